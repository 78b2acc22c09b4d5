// CUDA kernels of the operators that only move elements.
#include "layout/depth_to_space.hpp"
#include "layout/expand_dims.hpp"
#include "layout/reshape.hpp"
#include "layout/squeeze.hpp"
#include "layout/transpose.hpp"
#include "shared/box_copy_on_device.hpp"
#include "slicing/concat.hpp"
#include "slicing/slice.hpp"
#include "slicing/split.hpp"

template <class Op>
struct RelabelCuda : Op {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const {
    copy(call, bytes::input(call, 0), bytes::output(call, 0));
  }
  void backward(const tenon::Call& call) const {
    copy(call, bytes::output_grad(call, 0), bytes::input_grad(call, 0));
  }

 private:
  static void copy(const tenon::Call& call, const std::byte* from, std::byte* to) {
    if (from != to) tenon::gpu::copy(call, to, from, call.input_bytes(0));
  }
};

struct TransposeCuda : Transpose {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const { permute<BoxCopyOnDevice>(call); }
  void backward(const tenon::Call& call) const { permute_back<BoxCopyOnDevice>(call); }
};

struct ConcatCuda : Concat {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const { join<BoxCopyOnDevice>(call); }
  void backward(const tenon::Call& call) const { cut<BoxCopyOnDevice>(call); }
};

struct SplitCuda : Split {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const { cut<BoxCopyOnDevice>(call); }
  void backward(const tenon::Call& call) const { join<BoxCopyOnDevice>(call); }
};

template <class Op>
struct MoveBlocksCuda : Op {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const { this->template put<BoxCopyOnDevice>(call); }
  void backward(const tenon::Call& call) const { this->template put_back<BoxCopyOnDevice>(call); }
};

TENON_KERNEL(depth_to_space, cuda, MoveBlocksCuda<DepthToSpace>)
TENON_KERNEL(space_to_depth, cuda, MoveBlocksCuda<SpaceToDepth>)
TENON_KERNEL(reshape, cuda, RelabelCuda<Reshape>)
TENON_KERNEL(squeeze, cuda, RelabelCuda<Squeeze>)
TENON_KERNEL(expand_dims, cuda, RelabelCuda<ExpandDims>)
TENON_KERNEL(transpose, cuda, TransposeCuda)
TENON_KERNEL(concat, cuda, ConcatCuda)
TENON_KERNEL(split, cuda, SplitCuda)
