// Converts tensors from one storage to another.
#pragma once
#include <tenon/host/api.hpp>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// Returns the same elements in another storage, with indices of `index_dtype` (int32 or int64;
/// kernels read int64); the tensor itself if it already has both. Converting from dense or
/// row_sparse does not store elements that equal 0 (or -0.0); elements stored by csr stay stored,
/// including zeros. A tensor on a GPU is converted on the CPU and the result copied back. Throws
/// Failure if csr is requested for other than two dimensions or row_sparse for a scalar, if the
/// indices do not fit int32, and if memory runs out.
TENON_API Tensor cast_storage(const Tensor& tensor, Storage storage, DType index_dtype = i64);

/// Creates a csr matrix from unordered coordinates: values, rows and columns (int32 or int64) are
/// lists of the same length. Values at the same position are added in order: floats in their own
/// precision, float16 and bfloat16 in float, integers modulo their range, bools by `or`. Sums of 0
/// stay stored. The result has int64 indices and is on the values' device; GPU tensors are
/// converted on the CPU. Throws Failure that names the first index out of range.
TENON_API Tensor csr_from_coordinates(const Tensor& values, const Tensor& rows,
                                      const Tensor& columns, const Shape& shape);

}  // namespace tenon
