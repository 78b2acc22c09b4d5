// dropout on CUDA; the mask is bit-identical to the CPU's.
#include <tenon/gpu/launch.hpp>

#include "dropout.hpp"

namespace {

/// `mask` or `output` is null if it is not requested.
struct Drop {
  const float* data;
  float *output, *mask;
  tenon::Random random;
  float p,
      inverse_keep_prob;  // 1 / (1 - p), computed on the host: a device's division may round
                          // differently
  bool drop;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const float scale = !drop                                               ? 1.f
                        : random.uniform(static_cast<std::uint64_t>(i)) < p ? 0.f
                                                                            : inverse_keep_prob;
    if (mask) mask[i] = scale;
    if (output) output[i] = data[i] * scale;
  }
};

struct DropGradient {
  const float *dy, *mask;
  float* dx;

  TENON_DEVICE void operator()(std::int64_t i) const { dx[i] = dy[i] * mask[i]; }
};

}  // namespace

struct DropoutCuda : Dropout {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    const auto data = call.input<float>(0);
    const auto output_or_null = [&](int i) {
      return call.write(i) == tenon::Write::none ? nullptr : call.output<float>(i).data();
    };
    tenon::gpu::for_each(call, data.size(),
                         Drop{data.data(), output_or_null(0), output_or_null(1), call.random(), p,
                              1 / (1 - p), call.training()});
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto dx = call.input_grad<float>(0);
    tenon::gpu::for_each(call, dx.size(),
                         DropGradient{call.output_grad<float>(0).data(),
                                      call.output_value<float>(1).data(), dx.data()});
  }
};
TENON_KERNEL(dropout, cuda, DropoutCuda)
