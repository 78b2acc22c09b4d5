#include "tensor/element_count.hpp"

#include <algorithm>

namespace tenon {

std::optional<std::int64_t> element_count(const Shape& shape) {
  if (!shape.known()) return std::nullopt;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (__builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  return count;
}

std::optional<std::int64_t> byte_count(DType dtype, const Shape& shape) {
  std::optional<std::int64_t> count = element_count(shape);
  if (count && __builtin_mul_overflow(*count, static_cast<std::int64_t>(size_of(dtype)), &*count))
    return std::nullopt;
  return count;
}

}  // namespace tenon
