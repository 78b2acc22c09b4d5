// The CUDA kernel of col2im: each element of the image sums the elements of the blocks that cover
// it, in order.
#include <tenon/gpu/launch.hpp>

#include "col2im.hpp"

namespace {

template <class T>
struct SumBlocks {
  BlocksOfImage geometry;
  const T* data;
  T* output;

  TENON_FN void operator()(std::int64_t i) const {
    const T* const columns = data + i / geometry.image_size * geometry.columns();
    Wide<T> sum = 0;
    for (std::int64_t e = 0; e < geometry.elements; ++e)
      if (const auto b = geometry.block_at(e, i % geometry.image_size); b >= 0)
        sum += static_cast<Wide<T>>(columns[e * geometry.blocks + b]);
    output[i] = T(sum);
  }
};

template <class T>
struct TakeBlocks {
  BlocksOfImage geometry;
  const T* dy;
  T* dx;

  TENON_FN void operator()(std::int64_t i) const {
    const auto column = i % geometry.columns(),
               at = geometry.image_index(column / geometry.blocks, column % geometry.blocks);
    dx[i] = at < 0 ? T(0.0f) : dy[i / geometry.columns() * geometry.image_size + at];
  }
};

}  // namespace

struct Col2imCuda : Col2im {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      tenon::gpu::for_each(
          call, call.output_type(0).shape.size(),
          SumBlocks<T>{blocks_of(call), call.input<T>(0).data(), call.output<T>(0).data()});
    });
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      tenon::gpu::for_each(call, call.input_type(0).shape.size(),
                           TakeBlocks<T>{blocks_of(call), call.output_grad<T>(0).data(),
                                         call.input_grad<T>(0).data()});
    });
  }
};
TENON_KERNEL(col2im, cuda, Col2imCuda)
