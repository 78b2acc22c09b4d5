// Overflow-checked products of dimensions.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <tenon/shape.hpp>

namespace tenon {

/// Returns the number of elements of this shape, 0 if any dimension is 0; nullopt if the shape is
/// not known or on overflow.
inline std::optional<std::int64_t> element_count(const Shape& shape) {
  if (!shape.known()) return std::nullopt;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (__builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  return count;
}

/// Returns the size in bytes; nullopt as for element_count().
inline std::optional<std::int64_t> byte_count(DType dtype, const Shape& shape) {
  std::optional<std::int64_t> count = element_count(shape);
  if (count && __builtin_mul_overflow(*count, static_cast<std::int64_t>(size_of(dtype)), &*count))
    return std::nullopt;
  return count;
}

}  // namespace tenon
