// Overflow-checked products of dimensions.
#pragma once
#include <cstdint>
#include <optional>
#include <tenon/shape.hpp>

namespace tenon {

/// Returns the number of elements of this shape, 0 if any dimension is 0; nullopt if the shape is
/// not known or on overflow.
std::optional<std::int64_t> element_count(const Shape& shape);

/// Returns the size in bytes; nullopt as for element_count().
std::optional<std::int64_t> byte_count(DType dtype, const Shape& shape);

}  // namespace tenon
