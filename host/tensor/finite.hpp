// Looks for what spoils a training: NaN and infinities.
#pragma once
#include <cstdint>
#include <span>
#include <tenon/host/tensor.hpp>

#include "device/threads.hpp"

namespace tenon {

/// Which of n elements is the first that is NaN or infinite; -1 where none is, as in every dtype that has no such numbers.
std::int64_t first_non_finite(DType dtype, const void* elements, std::int64_t n);

/// Which of the tensors is the first with such an element; -1 where none has one. Dense, contiguous, of any dtype and device: elements on
/// a GPU are looked at there, and one word for each tensor comes back; others on all `threads`.
std::int64_t first_non_finite(std::span<const Tensor> tensors, const Threads& threads);

}  // namespace tenon
