// Operators for tests of sessions on GPUs, with kernels for CPU and CUDA.
#include <tenon/elementwise.hpp>
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/launch.hpp>
#include <tenon/gpu/library_handle.hpp>
#include <tenon/gpu/number.hpp>
#include <tenon/gpu/scratch.hpp>
#include <tenon/operator.hpp>
#include <thread>
#if !defined(__CUDACC__)
#include <cuda_simulated.h>
#endif

struct Scale : tenon::Elementwise {
  float factor = 1;

  static constexpr void describe(auto& op) {
    op.doc("factor times the input");
    op.input("x", "any shape and storage");
    op.output("y", "as x");
    op.param("factor", &Scale::factor, "a number");
    op.inplace("x", "y");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return T(factor) * x;
  }
};
TENON_OPERATOR(scale, Scale)

struct Plus : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the sum of two tensors");
    op.types(tenon::floating + tenon::any_complex);
    op.input("left", "any shape");
    op.input("right", "the same shape");
    op.output("sum", "the same shape");
    op.inplace("left", "sum");
  }
  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return left + right;
  }
};
TENON_OPERATOR(plus, Plus)

/// Base of the others: one float32 input, and an output of its type.
struct Plain : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("an operator for tests");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.output("y", "as x");
  }
};

struct Take : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("elements of data by index");
    op.types({tenon::f32});
    op.input("data", "[n]");
    op.input("index", "[m], from 0 to n - 1").types({tenon::i64});
    op.output("taken", "[m]");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(1).shape); }
  void forward(const tenon::Call& call) const {
    const auto data = call.input<float>(0);
    const auto index = call.input<std::int64_t>(1);
    auto taken = call.output<float>(0);
    for (std::int64_t i = 0; i < index.size(); ++i) taken[i] = data[index[i]];
  }
};
TENON_OPERATOR(take, Take)

struct TakeBody {
  tenon::gpu::Fault fault;
  const float* data;
  std::int64_t size;
  const std::int64_t* index;
  float* taken;

  TENON_DEVICE void operator()(std::int64_t i) const {
    if (fault.fits(index[i], size)) taken[i] = data[index[i]];
  }
};
struct TakeOnGpu : Take {
  static constexpr bool capturable = true;
  void forward(const tenon::Call& call) const {
    const auto data = call.input<float>(0);
    const auto index = call.input<std::int64_t>(1);
    tenon::gpu::for_each(call, index.size(),
                         TakeBody{tenon::gpu::Fault(call), data.data(), data.size(), index.data(),
                                  call.output<float>(0).data()});
  }
};
TENON_KERNEL(take, cuda, TakeOnGpu)

struct Shift : Plain {
  static constexpr void describe(auto& op) {
    Plain::describe(op);
    op.input("amount", "[1]").on_cpu();
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const tenon::Call& call) const {
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i)
      y[i] = call.input<float>(0)[i] + call.input<float>(1)[0];
  }
};
TENON_OPERATOR(shift, Shift)

struct ShiftBody {
  const float* x;
  float amount;
  float* y;

  TENON_DEVICE void operator()(std::int64_t i) const { y[i] = x[i] + amount; }
};
struct ShiftOnGpu : Shift {
  static constexpr bool capturable = true;
  void forward(const tenon::Call& call) const {
    auto y = call.output<float>(0);
    tenon::gpu::for_each(call, y.size(),
                         ShiftBody{call.input<float>(0).data(), call.input<float>(1)[0], y.data()});
  }
};
TENON_KERNEL(shift, cuda, ShiftOnGpu)

struct Noise : Plain {
  static constexpr void describe(auto& op) {
    Plain::describe(op);
    op.uses_random();
  }
  void forward(const tenon::Call& call) const {
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i)
      y[i] = call.input<float>(0)[i] + call.random().uniform(static_cast<std::uint64_t>(i));
  }
};
TENON_OPERATOR(noise, Noise)

struct NoiseBody {
  tenon::Random random;
  const float* x;
  float* y;

  TENON_DEVICE void operator()(std::int64_t i) const {
    y[i] = x[i] + random.uniform(static_cast<std::uint64_t>(i));
  }
};
struct NoiseOnGpu : Noise {
  static constexpr bool capturable = true;
  void forward(const tenon::Call& call) const {
    auto y = call.output<float>(0);
    tenon::gpu::for_each(call, y.size(),
                         NoiseBody{call.random(), call.input<float>(0).data(), y.data()});
  }
};
TENON_KERNEL(noise, cuda, NoiseOnGpu)

struct Tally : Plain {
  static constexpr void describe(auto& op) {
    Plain::describe(op);
    op.state("calls", "[1]");
  }
  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_state("calls", {1});
  }
  void forward(const tenon::Call& call) const {
    auto calls = call.state<float>("calls");
    calls[0] += 1;
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = call.input<float>(0)[i] + calls[0];
  }
};
TENON_OPERATOR(tally, Tally)

struct CountBody {
  float* calls;
  TENON_DEVICE void operator()(std::int64_t) const { *calls += 1; }
};
struct AddBody {
  const float *x, *calls;
  float* y;
  TENON_DEVICE void operator()(std::int64_t i) const { y[i] = x[i] + *calls; }
};
struct TallyOnGpu : Tally {
  static constexpr bool capturable = true;
  void forward(const tenon::Call& call) const {
    auto* calls = call.state<float>("calls").data();
    auto y = call.output<float>(0);
    tenon::gpu::for_each(call, 1, CountBody{calls});
    tenon::gpu::for_each(call, y.size(), AddBody{call.input<float>(0).data(), calls, y.data()});
  }
};
TENON_KERNEL(tally, cuda, TallyOnGpu)

/// Has no CUDA kernel.
struct Backwards : Plain {
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[x.size() - 1 - i];
  }
};
TENON_OPERATOR(backwards, Backwards)

/// Its CUDA kernel waits for the device but wrongly declares capturable.
struct Liar : Plain {
  void forward(const tenon::Call& call) const {
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = call.input<float>(0)[i];
  }
};
TENON_OPERATOR(liar, Liar)

struct LiarOnGpu : Liar {
  static constexpr bool capturable = true;
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    tenon::gpu::copy(call, call.output<float>(0).data(), x.data(),
                     static_cast<std::size_t>(x.size()) * sizeof(float));
    tenon::gpu::require(cudaStreamSynchronize(tenon::gpu::stream_of(call)));
  }
};
TENON_KERNEL(liar, cuda, LiarOnGpu)

/// Another thread disturbs its second call, like another library in the process.
struct Disturbed : Plain {
  void forward(const tenon::Call& call) const {
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = call.input<float>(0)[i];
  }
};
TENON_OPERATOR(disturbed, Disturbed)

struct DisturbedOnGpu : Disturbed {
  static constexpr bool capturable = true;
  void forward(const tenon::Call& call) {
    const auto x = call.input<float>(0);
    tenon::gpu::copy(call, call.output<float>(0).data(), x.data(),
                     static_cast<std::size_t>(x.size()) * sizeof(float));
    int device = 0;
    tenon::gpu::require(cudaGetDevice(&device));
    const auto disturb = [device] {
      tenon::gpu::require(cudaSetDevice(device));
      static_cast<void>(cudaDeviceSynchronize());
      static_cast<void>(cudaGetLastError());
    };
    if (++calls == 2) std::thread(disturb).join();
  }
  int calls = 0;
};
TENON_KERNEL(disturbed, cuda, DisturbedOnGpu)

/// Makes the device unusable.
struct Wild : Plain {
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < x.size(); ++i) y[i] = x[i];
  }
};
TENON_OPERATOR(wild, Wild)

#if defined(__CUDACC__)
struct WildBody {
  TENON_DEVICE void operator()(std::int64_t) const {
    *reinterpret_cast<volatile int*>(std::uintptr_t{64}) = 1;
  }
};
#endif
struct WildOnGpu : Wild {
  void forward(const tenon::Call& call) const {
#if defined(__CUDACC__)
    tenon::gpu::for_each(call, 1, WildBody{});
#else
    const auto lose = [](void*) {
      simulated_lose_device(cudaErrorIllegalAddress, "an illegal memory access was encountered");
    };
    cudaLaunchHostFunc(static_cast<cudaStream_t>(call.stream()), lose, nullptr);
#endif
  }
};
TENON_KERNEL(wild, cuda, WildOnGpu)

/// Waits for its GPU, ignores errors and computes nothing.
struct Patient : Plain {
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(patient, Patient)

struct PatientOnGpu : Patient {
  void forward(const tenon::Call& call) const {
    if (cudaStreamSynchronize(static_cast<cudaStream_t>(call.stream())) != cudaSuccess)
      static_cast<void>(cudaGetLastError());
  }
};
TENON_KERNEL(patient, cuda, PatientOnGpu)

/// Takes `mib` MiB of scratch, like a sparse kernel, writes all of it and waits; y is x.
struct Scratchy : Plain {
  std::int64_t mib = 1;

  static constexpr void describe(auto& op) {
    Plain::describe(op);
    op.param("mib", &Scratchy::mib, "MiB of scratch");
  }
  void forward(const tenon::Call& call) const {
    for (std::int64_t i = 0; i < call.output<float>(0).size(); ++i)
      call.output<float>(0)[i] = call.input<float>(0)[i];
  }
};
TENON_OPERATOR(scratchy, Scratchy)

struct ScratchyOnGpu : Scratchy {
  static constexpr bool capturable = true;  // wrong on purpose
  void forward(const tenon::Call& call) const {
    const auto count = mib << 17;
    const tenon::gpu::Scratch<std::int64_t> scratch(call, count);
    tenon::gpu::clear(call, scratch.data(), static_cast<std::size_t>(count) * sizeof(std::int64_t));
    if (tenon::gpu::wait_for(call, scratch.data()) != 0)
      throw tenon::Error("the scratch is not clear");
    const auto x = call.input<float>(0);
    tenon::gpu::copy(call, call.output<float>(0).data(), x.data(),
                     static_cast<std::size_t>(x.size()) * sizeof(float));
  }
};
TENON_KERNEL(scratchy, cuda, ScratchyOnGpu)

/// Like a kernel with a library whose handle waits for the device when it is created, which breaks
/// this thread's captures.
struct WithLibrary : Plain {
  void forward(const tenon::Call& call) const {
    for (std::int64_t i = 0; i < call.output<float>(0).size(); ++i)
      call.output<float>(0)[i] = call.input<float>(0)[i];
  }
};
TENON_OPERATOR(with_library, WithLibrary)

struct WithLibraryOnGpu : WithLibrary {
  static constexpr bool capturable = true;
  void forward(const tenon::Call& call) const {
    tenon::gpu::library_handle<const int*>([](const int** made) {
      tenon::gpu::require(cudaDeviceSynchronize());
      static constexpr int library = 0;
      *made = &library;
    });
    const auto x = call.input<float>(0);
    tenon::gpu::copy(call, call.output<float>(0).data(), x.data(),
                     static_cast<std::size_t>(x.size()) * sizeof(float));
  }
};
TENON_KERNEL(with_library, cuda, WithLibraryOnGpu)
