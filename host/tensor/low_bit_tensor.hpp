// Low-bit tensors as tensors of float32 or int8, which hold all their numbers: for text, random
// numbers, comparisons and everything else that needs the numbers but not the speed of a kernel.
#pragma once
#include <tenon/host/tensor.hpp>

namespace tenon {

/// float32 for low-bit floats, int8 for low-bit integers; any other dtype itself.
DType decoded_dtype(DType dtype);

/// Returns a CPU copy in decoded_dtype(). A tensor of another dtype is returned unchanged. Requires
/// a dense tensor.
Tensor decoded(const Tensor& tensor);

/// Whether a low-bit dtype can hold the number: its integral part for integers; floats hold NaN and
/// infinities if they have them, and numbers that do not round to one beyond the largest one.
bool fits_low_bit(DType dtype, double value);

/// Rounds the elements of `numbers`, float32 or int8, to those of `to`, low-bit, contiguous and of
/// the same size.
void encode_elements(const Tensor& numbers, const Tensor& to, bool saturate = true);

/// Returns the numbers as a tensor of a low-bit dtype. Throws Failure (usage) with the first number
/// that does not fit.
Tensor encoded(const Tensor& numbers, DType dtype);

}  // namespace tenon
