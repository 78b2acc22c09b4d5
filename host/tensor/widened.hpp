// Lossless widening of dtypes.
#pragma once
#include <tenon/host/tensor.hpp>

namespace tenon {

/// Whether every value of `from` is representable in `to`. False for dtypes `to` below 4 bytes,
/// unless both are equal.
bool widens(DType from, DType to);

/// Returns a CPU copy, or the tensor itself if it already has the dtype. Requires widens().
Tensor widened(const Tensor& tensor, DType to);

}  // namespace tenon
