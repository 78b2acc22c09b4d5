// Looks for NaN and infinities where a GPU has them.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <tenon/visit.hpp>
#include <type_traits>

namespace tenon {

class Stream;

/// How many numbers an element consists of, and of which dtype: complex ones of two.
inline std::int64_t parts_of(DType dtype) {
  return any_complex.has(dtype) ? 2 : 1;
}
inline DType part_of(DType dtype) {
  return dtype == DType::c64 ? DType::f32 : dtype == DType::c128 ? DType::f64 : dtype;
}

/// Calls f with the bits of infinity, which all NaNs have set, too, in an unsigned integer of a part's size; not for whole numbers.
template <class F>
void with_exponent_bits(DType dtype, F&& f) {
  dtype = part_of(dtype);
  if (!floating.has(dtype)) return;
  visit<floating>(dtype, [&]<class T>() {
    using Wide = std::conditional_t<sizeof(T) == sizeof(std::uint64_t), std::uint64_t, std::uint32_t>;
    using Bits = std::conditional_t<sizeof(T) == sizeof(std::uint16_t), std::uint16_t, Wide>;
    f(std::bit_cast<Bits>(static_cast<T>(std::numeric_limits<float>::infinity())));
  });
}

/// On a GPU's stream: *found becomes 1 where one of n elements is NaN or infinite, else it stays as it is. In cuda/.
void mark_non_finite(DType dtype, const void* elements, std::int64_t n, std::int64_t* found, const Stream& stream);

}  // namespace tenon
