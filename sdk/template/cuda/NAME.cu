// The operator's CUDA kernel.
#include <tenon/gpu/launch.hpp>

#include "@NAME@.hpp"

namespace {

// A body: the work of one thread for one element.
struct ReversedRows {
  const float* from;
  float* to;
  std::int64_t columns;
  TENON_FN void operator()(std::int64_t i) const {
    to[i] = from[i / columns * columns + columns - 1 - i % columns];
  }
};

}  // namespace

struct @CLASS@Cuda : @CLASS@ {
  static constexpr bool capturable = true;  // it only enqueues work
  void forward(const tenon::Call& call) const {
    const auto to = call.output<float>(0);
    const auto columns = call.input_type(0).shape[1];
    tenon::gpu::for_each(call, to.size(),
                         ReversedRows{call.input<float>(0).data(), to.data(), columns});
  }
  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;  // the gradient is not requested
    const auto to = call.input_grad<float>(0);
    const auto columns = call.input_type(0).shape[1];
    tenon::gpu::for_each(call, to.size(),
                         ReversedRows{call.output_grad<float>(0).data(), to.data(), columns});
  }
};
TENON_KERNEL(@NAME@, cuda, @CLASS@Cuda)
