// Tensor layouts for CUDA kernels: the tensors of a job as plain numbers that are passed with the
// launch. Does not need nvcc, so that tests on any machine run it.
#pragma once

#include <cstdint>

#include "../../abi.h"
#include "../../dtype.hpp"
#include "../../gpu/row_major.hpp"
#include "../../shape.hpp"
#include "../../version.hpp"
#include "../job.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// A tensor broadcast to the iteration space of a kernel. Strides are in bytes, 0 along broadcast
/// axes.
struct DeviceOperand {
  unsigned char* data = nullptr;  ///< null: zeros
  DType dtype{};
  std::int64_t strides[max_rank] = {};
};

/// Returns a tensor broadcast to the shape of `broadcast`; zeros if it is null.
inline DeviceOperand operand_of(const tenon_tensor* tensor, const tenon_dense& broadcast) {
  DeviceOperand operand;
  if (!tensor) return operand;
  const tenon_dense& own = tensor->dense;
  operand.data = static_cast<unsigned char*>(own.data) + own.byte_offset;
  operand.dtype = static_cast<DType>(tensor->dtype);
  std::int64_t contiguous = static_cast<std::int64_t>(size_of(operand.dtype));
  const std::int64_t size = contiguous;
  for (int axis = own.ndim - 1; axis >= 0; --axis) {
    const std::int64_t stride = own.strides ? own.strides[axis] * size : contiguous;
    operand.strides[axis + broadcast.ndim - own.ndim] = own.shape[axis] == 1 ? 0 : stride;
    contiguous *= own.shape[axis];
  }
  return operand;
}

/// Returns the space of the axes of `broadcast` for which take(axis) holds, and sets the operands'
/// strides along them. Axes that are contiguous in all operands are merged.
template <class Take>
gpu::RowMajor join_axes(const tenon_dense& broadcast, DeviceOperand* const* operands, int count,
                        Take take) {
  gpu::RowMajor space;
  for (int axis = 0; axis < broadcast.ndim; ++axis) {
    const std::int64_t size = broadcast.shape[axis];
    if (!take(axis) || size == 1) continue;
    bool joins = space.rank() > 0;
    for (int i = 0; i < count && joins; ++i)
      joins = operands[i]->strides[space.rank() - 1] == operands[i]->strides[axis] * size;
    joins ? space.extend(size) : space.push(size);
    for (int i = 0; i < count; ++i)
      operands[i]->strides[space.rank() - 1] = operands[i]->strides[axis];
  }
  for (int i = 0; i < count; ++i) space.fit(operands[i]->strides);
  return space;
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
