// Lossless conversions between dtypes.
#pragma once
#include <optional>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// Returns a new dense, contiguous CPU tensor as int32, int64, float32 or float64. Nullopt if an
/// element cannot be represented exactly: float32 has neither the 0.1 of float64 nor 2^24 + 1. NaN
/// stays NaN. Nullopt also for sparse, bool and complex tensors.
std::optional<Tensor> exact_cast(const Tensor& tensor, DType dtype);

/// Whether every value of `from` is representable in `to`. False for dtypes `to` below 4 bytes,
/// unless both are equal.
bool widens(DType from, DType to);

/// Returns a CPU copy, or the tensor itself if it already has the dtype. Requires widens().
Tensor widened(const Tensor& tensor, DType to);

}  // namespace tenon
