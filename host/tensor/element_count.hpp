// Products of dimensions that cannot overflow.
#pragma once
#include <cstdint>
#include <optional>
#include <tenon/shape.hpp>

namespace tenon {

/// Elements of a tensor of this shape; nothing where it is not known, or they are too many to be counted. 0 where any dimension is 0.
std::optional<std::int64_t> element_count(const Shape& shape);

/// Their bytes, in the same way.
std::optional<std::int64_t> byte_count(DType dtype, const Shape& shape);

}  // namespace tenon
