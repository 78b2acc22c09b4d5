// Detects NaN and infinities.
#pragma once
#include <cstdint>
#include <span>
#include <tenon/host/tensor.hpp>

#include "device/threads.hpp"

namespace tenon {

/// Returns the index of the first of n elements that is NaN or infinite; -1 if there is none, as
/// for all dtypes without such numbers.
std::int64_t first_non_finite(DType dtype, const void* elements, std::int64_t n);

/// Returns the index of the first tensor with a non-finite element; -1 if there is none. Tensors
/// are dense and contiguous, of any dtype and device. Tensors on a GPU are checked there, with one
/// word copied back for each; others are checked on all `threads`.
std::int64_t first_non_finite(std::span<const Tensor> tensors, const Threads& threads);

}  // namespace tenon
