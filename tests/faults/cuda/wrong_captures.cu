// CUDA kernels that wrongly declare capturable, each in its own way; single calls are right.
#include <tenon/gpu/launch.hpp>
#include <tenon/operator.hpp>

struct Same : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("x as it is");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[i];
  }
};
TENON_OPERATOR(waits, Same)
TENON_OPERATOR(waits_unheard, Same)

struct SameBody {
  const float* x;
  float* y;
  TENON_DEVICE void operator()(std::int64_t i) const { y[i] = x[i]; }
};

struct SameOnGpu : Same {
  static constexpr bool capturable = true;
  void forward(const tenon::Call& call) const {
    auto y = call.output<float>(0);
    tenon::gpu::for_each(call, y.size(), SameBody{call.input<float>(0).data(), y.data()});
  }
};

struct Waits : SameOnGpu {
  void forward(const tenon::Call& call) const {
    SameOnGpu::forward(call);
    tenon::gpu::require(cudaStreamSynchronize(tenon::gpu::stream_of(call)));
  }
};
TENON_KERNEL(waits, cuda, Waits)

/// Ignores errors that CUDA reports.
struct WaitsUnheard : SameOnGpu {
  void forward(const tenon::Call& call) const {
    SameOnGpu::forward(call);
    if (cudaDeviceSynchronize() != cudaSuccess) cudaGetLastError();
  }
};
TENON_KERNEL(waits_unheard, cuda, WaitsUnheard)

/// Adds a number that the CPU computes for each run; a capture keeps the one of its own run.
struct Shifts : Same {
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    const float shift = call.random().uniform(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[i] + shift;
  }
};
TENON_OPERATOR(bakes_a_number, Shifts)

struct ShiftBody {
  const float* x;
  float* y;
  float shift;
  TENON_DEVICE void operator()(std::int64_t i) const { y[i] = x[i] + shift; }
};
struct ShiftsOnGpu : Shifts {
  static constexpr bool capturable = true;
  void forward(const tenon::Call& call) const {
    auto y = call.output<float>(0);
    tenon::gpu::for_each(
        call, y.size(), ShiftBody{call.input<float>(0).data(), y.data(), call.random().uniform(0)});
  }
};
TENON_KERNEL(bakes_a_number, cuda, ShiftsOnGpu)

TENON_OPERATOR(same, Same)
TENON_KERNEL(same, cuda, SameOnGpu)
