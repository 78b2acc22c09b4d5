// Converts tensors from one storage to another.
#pragma once
#include <tenon/host/api.hpp>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// The same elements in another storage, with indices of `index_dtype` (int32 or int64; kernels read int64). Returns the tensor itself if
/// it has both already. From dense and row_sparse, elements that equal 0 (-0.0 too) are not stored; what csr stores stays stored, zeros
/// too. A tensor on a GPU is converted on the CPU, and the result copied back. Throws Failure if csr is requested for other than two
/// dimensions or row_sparse for a scalar, if the indices do not fit int32, and if memory runs out.
TENON_API Tensor cast_storage(const Tensor& tensor, Storage storage, DType index_dtype = i64);

/// A csr matrix from its elements in any order: values, rows and columns (int32 or int64) are lists of one length. Values at the same place
/// are added in the order given: floats in their own precision, float16 and bfloat16 in float, integers modulo their range, bools by `or`.
/// Sums that are 0 stay stored. The result has int64 indices and is on the values' device; GPU tensors are converted on the CPU. Throws
/// Failure that names the first index out of range.
TENON_API Tensor csr_from_coordinates(const Tensor& values, const Tensor& rows, const Tensor& columns, const Shape& shape);

}  // namespace tenon
