// CUDA kernels of uniform and normal.
#include <tenon/gpu/launch.hpp>

#include "normal.hpp"
#include "uniform.hpp"

namespace {

template <class T, class Make>
struct DrawBlock {
  tenon::Random random;
  Make make;
  T* output;
  std::int64_t size;

  TENON_FN void operator()(std::int64_t b) const { draw_block<T>(random, make, b, output, size); }
};

template <class T, class Make>
void fill_on_device(const tenon::Call& call, const Make& make) {
  const auto output = call.output<T>(0);
  tenon::gpu::for_each(call, (output.size() + per_block<T> - 1) / per_block<T>,
                       DrawBlock<T, Make>{call.random(), make, output.data(), output.size()});
}

}  // namespace

// Not capturable: each replay of a captured graph would generate the same numbers.
struct UniformCuda : Uniform {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(dtype, [&]<class T>() { fill_on_device<T>(call, numbers<T>()); });
  }
};
struct NormalCuda : Normal {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(dtype, [&]<class T>() {
      fill_on_device<T>(call, NormalNumbers<T>{mean, sd});
    });
  }
};
TENON_KERNEL(uniform, cuda, UniformCuda)
TENON_KERNEL(normal, cuda, NormalCuda)
