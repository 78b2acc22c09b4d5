#include "rows/rows_on_device.hpp"
#include "shared/box_copy_on_device.hpp"
#include "slice.hpp"

/// The sparse kernels wait for sizes, so that they cannot be captured in CUDA graphs.
struct SliceCuda : Slice {
  static constexpr bool capturable = true;

  void forward(const tenon::Call& call) const { cut<BoxCopyOnDevice>(call); }
  void backward(const tenon::Call& call) const { paste<BoxCopyOnDevice>(call); }
  void forward_sparse(const tenon::Call& call) const { cut_rows<PicksOnDevice>(call); }
  void backward_sparse(const tenon::Call& call) const { put_rows_back<PicksOnDevice>(call); }
};
TENON_KERNEL(slice, cuda, SliceCuda)
