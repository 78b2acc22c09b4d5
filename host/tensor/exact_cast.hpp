// Tensors in another dtype, where nothing is lost.
#pragma once
#include <optional>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// A dense tensor of its own, contiguous and in the CPU's memory, as int32, int64, float32 or float64. Empty if an element would become
/// another number: float32 has neither the 0.1 of float64 nor 2^24 + 1. NaN stays NaN. Empty for sparse, bool and complex tensors, too.
std::optional<Tensor> exact_cast(const Tensor& tensor, DType dtype);

}  // namespace tenon
