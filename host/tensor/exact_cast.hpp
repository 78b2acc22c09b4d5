// Tensors in another dtype, where nothing is lost.
#pragma once
#include <optional>
#include <tenon/host/tensor.hpp>

namespace tenon {

/// A dense tensor of its own, contiguous and in the CPU's memory, as int32, int64, float32 or float64. Nothing where an element is not the
/// same number there: 0.1 of float64 is none of float32, 2^24 + 1 of int32 is not, either. NaN stays NaN. Nothing, too, for sparse, bool
/// and complex tensors.
std::optional<Tensor> exact_cast(const Tensor& tensor, DType dtype);

}  // namespace tenon
