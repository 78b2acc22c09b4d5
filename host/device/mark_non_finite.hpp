// Detection of NaN and infinities on GPUs.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <tenon/visit.hpp>
#include <type_traits>

namespace tenon {

class Stream;

/// The number of real components of an element, and their dtype: complex elements have two.
inline std::int64_t component_count(DType dtype) {
  return any_complex.has(dtype) ? 2 : 1;
}
inline DType component_dtype(DType dtype) {
  return dtype == DType::c64 ? DType::f32 : dtype == DType::c128 ? DType::f64 : dtype;
}

/// Calls f with the bits of infinity, all of which every NaN has set, as an unsigned integer of a
/// component's size. Does nothing for integers.
template <class F>
void with_exponent_bits(DType dtype, F&& f) {
  dtype = component_dtype(dtype);
  if (!floating.has(dtype)) return;
  visit<floating>(dtype, [&]<class T>() {
    using Wide =
        std::conditional_t<sizeof(T) == sizeof(std::uint64_t), std::uint64_t, std::uint32_t>;
    using Bits = std::conditional_t<sizeof(T) == sizeof(std::uint16_t), std::uint16_t, Wide>;
    f(std::bit_cast<Bits>(static_cast<T>(std::numeric_limits<float>::infinity())));
  });
}

/// Enqueues on a GPU's stream: sets *found to 1 if one of n elements is NaN or infinite, else
/// leaves it unchanged. Implemented in cuda/.
void mark_non_finite(DType dtype, const void* elements, std::int64_t n, std::int64_t* found,
                     const Stream& stream);

}  // namespace tenon
