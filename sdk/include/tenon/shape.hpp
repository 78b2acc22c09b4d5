// Shapes of tensors, whole or known in part, as inference and kernels see them.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "abi.h"
#include "dtype.hpp"
#include "error.hpp"
#include "visibility.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

inline constexpr std::int64_t unknown = -1;      ///< one dimension that is not known yet
inline constexpr int max_rank = TENON_MAX_RANK;  ///< 8

/// Up to 8 dimensions, each known or `unknown`; or a shape whose rank itself is not known. Errors: a ninth dimension, a dimension below -1,
/// an axis that the shape does not have.
class TENON_OPEN Shape {
 public:
  TENON_HIDDEN constexpr Shape() = default;  ///< unknown rank; for no dimensions at all see scalar()
  TENON_HIDDEN constexpr Shape(std::initializer_list<std::int64_t> dims) : Shape(dims.begin(), static_cast<int>(dims.size())) {}
  TENON_HIDDEN constexpr Shape(const std::int64_t* dims, int rank) : rank_(checked_rank(rank)) {
    for (int axis = 0; axis < rank; ++axis) dims_[axis] = checked_dim(dims[axis]);
  }
  /// Of a tensor that exists: 0 <= rank <= 8 and no dimension below 0, which is not checked again.
  TENON_HIDDEN static Shape of_tensor(const std::int64_t* dims, int rank) {
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) shape.dims_[axis] = dims[axis];
    shape.rank_ = rank;
    return shape;
  }
  TENON_HIDDEN static constexpr Shape scalar() { return of_rank(0); }  ///< rank 0, one element; `{}` would be a shape of unknown rank
  TENON_HIDDEN static constexpr Shape of_rank(int rank) {              ///< every dimension unknown
    Shape shape;
    shape.rank_ = checked_rank(rank);
    for (int axis = 0; axis < rank; ++axis) shape.dims_[axis] = unknown;
    return shape;
  }

  TENON_HIDDEN constexpr bool has_rank() const { return rank_ >= 0; }
  TENON_HIDDEN constexpr bool known() const {  ///< rank and every dimension
    for (const std::int64_t dim : *this)
      if (dim == unknown) return false;
    return has_rank();
  }
  TENON_HIDDEN constexpr int rank() const { return rank_; }                                      ///< -1 where not has_rank()
  TENON_HIDDEN constexpr std::int64_t operator[](int axis) const { return dims_[index(axis)]; }  ///< a negative axis counts from the end
  TENON_HIDDEN constexpr void set(int axis, std::int64_t dim) { dims_[index(axis)] = checked_dim(dim); }

  /// Number of elements; `unknown` where not known(). Error: more than 2^63 - 1.
  TENON_HIDDEN constexpr std::int64_t size() const {
    if (!known()) return unknown;
    std::int64_t product = 1;
    for (const std::int64_t dim : *this)
      if (__builtin_mul_overflow(product, dim, &product) && !empty())
        fail(ErrorKind::type, {"a tensor of this shape has more elements than can be counted"});
    return empty() ? 0 : product;
  }

  TENON_HIDDEN constexpr const std::int64_t* begin() const { return dims_; }
  TENON_HIDDEN constexpr const std::int64_t* end() const { return dims_ + (rank_ < 0 ? 0 : rank_); }

  /// The same rank and dimensions; `unknown` equals only itself.
  friend constexpr bool operator==(const Shape& left, const Shape& right) {
    if (left.rank_ != right.rank_) return false;
    for (int axis = 0; axis < left.rank_; ++axis)
      if (left.dims_[axis] != right.dims_[axis]) return false;
    return true;
  }

 private:
  TENON_HIDDEN constexpr bool empty() const {  // of size 0
    for (const std::int64_t dim : *this)
      if (dim == 0) return true;
    return false;
  }
  TENON_HIDDEN constexpr int index(int axis) const {
    const int i = axis < 0 ? axis + rank_ : axis;
    if (i < 0 || i >= rank_) refuse_axis(axis);
    return i;
  }
  TENON_HIDDEN static constexpr int checked_rank(int rank) {
    if (rank < 0 || rank > max_rank) fail(ErrorKind::type, {"a shape has at most 8 dimensions, not ", rank});
    return rank;
  }
  TENON_HIDDEN static constexpr std::int64_t checked_dim(std::int64_t dim) {
    if (dim < unknown) fail(ErrorKind::type, {"a dimension cannot be ", dim});
    return dim;
  }
  [[noreturn]] TENON_HIDDEN inline void refuse_axis(int axis) const;

  std::int64_t dims_[max_rank] = {};  // 0 from rank on
  int rank_ = -1;
};

/// What is known of a tensor: its shape and the type of its elements (unknown_dtype where that is not known either).
struct TENON_OPEN TensorType {
  Shape shape;
  DType dtype = unknown_dtype;
  friend constexpr bool operator==(const TensorType&, const TensorType&) = default;
};

/// "[2, 3]", "[?, 3]" with an unknown dimension, "[...]" where the rank is unknown.
[[gnu::cold]] inline void append_part(std::string& text, const Shape& shape) {
  append_text(text, "[");
  if (!shape.has_rank()) append_text(text, "...");
  const char* separator = "";
  for (const std::int64_t dim : shape) {
    append_text(text, separator);
    if (dim == unknown) {
      append_text(text, "?");
    } else {
      Part(dim).append_to(text);
    }
    separator = ", ";
  }
  append_text(text, "]");
}
[[gnu::cold]] inline void append_part(std::string& text, const TensorType& type) {
  append_part(text, type.dtype);
  append_text(text, " ");
  append_part(text, type.shape);
}

inline std::string to_string(const Shape& shape) {
  return join(shape);
}
inline std::string to_string(const TensorType& type) {
  return join(type);
}  ///< "float32 [2, 3]"

inline void Shape::refuse_axis(int axis) const {
  fail(ErrorKind::type, {"no axis ", axis, " in shape ", *this});
}

}  // namespace tenon
#pragma GCC visibility pop
