// From one storage to another.
#pragma once
#include <tenon/tensor.hpp>

namespace tenon {

/// The same elements in another storage, with indices of `index_dtype` (int32 or int64; kernels read int64): the tensor itself where it has
/// both already. Elements that equal 0, -0.0 among them, are not stored when a dense tensor or a row of a row_sparse one becomes sparse;
/// what csr stores stays stored, zeros too, and so do its rows. Throws Failure where csr is asked of other than two dimensions, row_sparse
/// of a scalar, and where the indices do not fit int32 or the result not memory. What lies on a GPU goes through the CPU, and the
/// result to that GPU.
Tensor cast_storage(const Tensor& tensor, Storage storage, DType index_dtype = i64);

/// A csr matrix from its elements in any order, each with its row and column (int32 or int64), all of the same length. Values of the same
/// place are added in the order in which they are given (floats in their own precision, float16 and bfloat16 in float, whole numbers modulo
/// their range, bools by `or`); sums that are 0 stay stored. Indices are int64. Throws Failure that names the first place outside of
/// `shape`. What lies on GPUs is copied to the CPU, and so is the result where the values lie.
Tensor csr_from_coordinates(const Tensor& values, const Tensor& rows, const Tensor& columns, const Shape& shape);

}  // namespace tenon
