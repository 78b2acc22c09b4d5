// Memory layout of channels-last tensors.
#pragma once
#include <tenon/abi.h>

#include <cstdint>

namespace tenon {

constexpr bool may_be_channels_last(int rank) {
  return rank >= 3 && rank <= 5;
}

/// Sets the strides of a contiguous channels-last tensor [N, C, ...]. `strides` has room for `rank`
/// entries; rank is at least 2.
inline void set_channels_last_strides(const std::int64_t* dims, int rank, std::int64_t* strides) {
  strides[1] = 1;
  std::int64_t stride = dims[1];
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (axis == 1) continue;
    strides[axis] = stride;
    stride *= dims[axis];
  }
}

/// Returns the row-major index of the element at this position in the memory of a dense tensor
/// without gaps. Equal to `position` if strides is null.
inline std::int64_t row_major_index(const tenon_dense& tensor, std::int64_t position) {
  if (tensor.strides == nullptr || !may_be_channels_last(tensor.ndim)) return position;
  std::int64_t spatial = 1;
  for (int axis = 2; axis < tensor.ndim; ++axis) spatial *= tensor.shape[axis];
  const auto channels = tensor.shape[1], image = position / (channels * spatial),
             within = position % (channels * spatial);
  return (image * channels + within % channels) * spatial + within / channels;
}

}  // namespace tenon
