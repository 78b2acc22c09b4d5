// Shapes of tensors, fully or partly known, in inference and kernels. Dimensions count elements,
// outermost first; contiguous tensors are in row-major order: elements that are adjacent along the
// last axis are adjacent in memory. Types and functions here are in namespace tenon itself, because
// the host's headers use them, too.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>

#include "abi.h"
#include "detail/visibility.hpp"
#include "dtype.hpp"
#include "error.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

/// A dimension that is not known yet, such as the batch size while a graph is built. Kernels never
/// see it.
inline constexpr std::int64_t unknown = -1;
/// 8, fixed by the C boundary.
inline constexpr int max_rank = TENON_MAX_RANK;

/// Up to 8 dimensions, each known or `unknown`; or a shape of unknown rank. Kernels see only known
/// shapes; infer() sees all.
///
///     tenon::Shape()                        "[...]"     rank unknown: nothing is known
///     tenon::Shape::of_rank(2)              "[?, ?]"    two dimensions, both unknown
///     tenon::Shape{2, tenon::unknown}       "[2, ?]"
///     tenon::Shape{2, 3}                    "[2, 3]"    known() and size() == 6
///     tenon::Shape::scalar()                "[]"        rank 0: one element
///     tenon::Shape{0, 3}                    "[0, 3]"    no elements; known() and legal
///
/// Errors (type): a ninth dimension, a dimension below -1, an axis that the shape does not have. A
/// value type: it may be copied freely.
class TENON_OPEN Shape {
 public:
  TENON_HIDDEN constexpr Shape() = default;  ///< unknown rank; see scalar() for rank 0
  /// Outermost dimension first. {} calls the default constructor and is not a scalar: write
  /// Shape::scalar().
  TENON_HIDDEN constexpr Shape(std::initializer_list<std::int64_t> dims)
      : Shape(dims.begin(), static_cast<int>(dims.size())) {}
  /// Copies `rank` dimensions; a rank of 0 needs no pointer.
  TENON_HIDDEN constexpr Shape(const std::int64_t* dims, int rank) : rank_(checked_rank(rank)) {
    for (int axis = 0; axis < rank; ++axis) dims_[axis] = checked_dim(dims[axis]);
  }
  /// For the SDK: the shape of an existing tensor. 0 <= rank <= 8 and no negative dimension, which
  /// is not checked again.
  TENON_HIDDEN static Shape of_tensor(const std::int64_t* dims, int rank) {
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) shape.dims_[axis] = dims[axis];
    shape.rank_ = rank;
    return shape;
  }
  TENON_HIDDEN static constexpr Shape scalar() {
    return of_rank(0);
  }  ///< rank 0, one element; `{}` would have unknown rank
  TENON_HIDDEN static constexpr Shape of_rank(int rank) {  ///< every dimension unknown
    Shape shape;
    shape.rank_ = checked_rank(rank);
    for (int axis = 0; axis < rank; ++axis) shape.dims_[axis] = unknown;
    return shape;
  }

  /// Whether the rank is known. Check it before rank() and before any axis: a shape without rank
  /// has no axes.
  TENON_HIDDEN constexpr bool has_rank() const { return rank_ >= 0; }
  /// Whether the rank and every dimension are known. Shapes of existing tensors are; in infer()
  /// check it before size().
  TENON_HIDDEN constexpr bool known() const {
    for (const std::int64_t dim : *this)
      if (dim == unknown) return false;
    return has_rank();
  }
  TENON_HIDDEN constexpr int rank() const { return rank_; }  ///< -1 if not has_rank()
  /// The dimension, or `unknown`. Axis -1 is the last one. Error: no such axis, as for every axis
  /// of a shape without rank.
  TENON_HIDDEN constexpr std::int64_t operator[](int axis) const { return dims_[index(axis)]; }
  /// Replaces a dimension: auto out = data; out.set(1, tenon::unknown). Errors: no such axis; dim
  /// below -1.
  TENON_HIDDEN constexpr void set(int axis, std::int64_t dim) {
    dims_[index(axis)] = checked_dim(dim);
  }

  /// Number of elements: 1 for a scalar, 0 if a dimension is 0, `unknown` if not known(). Error:
  /// more than 2^63 - 1.
  TENON_HIDDEN constexpr std::int64_t size() const {
    if (!known()) return unknown;
    std::int64_t product = 1;
    for (const std::int64_t dim : *this)
      if (__builtin_mul_overflow(product, dim, &product) && !empty())
        fail(ErrorKind::type, {"a tensor of this shape has more elements than can be counted"});
    return empty() ? 0 : product;
  }

  /// The dimensions, outermost first; empty if not has_rank(): for (const std::int64_t dim : shape)
  /// ...
  TENON_HIDDEN constexpr const std::int64_t* begin() const { return dims_; }
  TENON_HIDDEN constexpr const std::int64_t* end() const { return dims_ + (rank_ < 0 ? 0 : rank_); }

  /// True if rank and dimensions are equal. `unknown` equals only itself: [2, ?] != [2, 3],
  /// although they may turn out to be the same shape. In infer(), compare with io.set_input and
  /// io.set_output, which merge instead.
  friend constexpr bool operator==(const Shape& left, const Shape& right) {
    if (left.rank_ != right.rank_) return false;
    for (int axis = 0; axis < left.rank_; ++axis)
      if (left.dims_[axis] != right.dims_[axis]) return false;
    return true;
  }

 private:
  // Whether the size is 0, even if another dimension is unknown.
  TENON_HIDDEN constexpr bool empty() const {
    for (const std::int64_t dim : *this)
      if (dim == 0) return true;
    return false;
  }
  // Returns the axis from 0 to rank - 1; negative axes count from the end.
  TENON_HIDDEN constexpr int index(int axis) const {
    const int i = axis < 0 ? axis + rank_ : axis;
    if (i < 0 || i >= rank_) refuse_axis(axis);
    return i;
  }
  // Shapes come from users, files and authors: all of them are checked once, on construction.
  TENON_HIDDEN static constexpr int checked_rank(int rank) {
    if (rank < 0 || rank > max_rank)
      fail(ErrorKind::type, {"a shape has at most 8 dimensions, not ", rank});
    return rank;
  }
  TENON_HIDDEN static constexpr std::int64_t checked_dim(std::int64_t dim) {
    if (dim < unknown) fail(ErrorKind::type, {"a dimension cannot be ", dim});
    return dim;
  }
  [[noreturn]] TENON_HIDDEN inline void refuse_axis(int axis) const;

  std::int64_t dims_[max_rank] = {};  // entries from rank_ on are 0
  int rank_ = -1;                     // -1: unknown
};

/// Everything known about a tensor: its shape and the dtype of its elements (unknown_dtype if that
/// is not known either). io.input(i) and call.input_type(i) return it:
///
///     const auto [shape, dtype] = call.input_type(0);
///     if (io.input("data").dtype == tenon::i64) ...
struct TENON_OPEN TensorType {
  Shape shape;
  DType dtype = unknown_dtype;
  friend constexpr bool operator==(const TensorType&, const TensorType&) = default;
};

/// Formats shapes and types for errors: "[2, 3]", "[?, 3]" with an unknown dimension, "[...]" with
/// an unknown rank, "float32 [2, 3]". Errors take them directly: throw tenon::Error("data is ",
/// shape, " but needs two dimensions").
[[gnu::cold]] inline void append_part(std::string& text, const Shape& shape) {
  append_text(text, "[");
  if (!shape.has_rank()) append_text(text, "...");
  const char* separator = "";
  for (const std::int64_t dim : shape) {
    append_text(text, separator);
    if (dim == unknown) {
      append_text(text, "?");
    } else {
      MessagePart(dim).append_to(text);
    }
    separator = ", ";
  }
  append_text(text, "]");
}
/// The dtype, then the shape.
[[gnu::cold]] inline void append_part(std::string& text, const TensorType& type) {
  append_part(text, type.dtype);
  append_text(text, " ");
  append_part(text, type.shape);
}

/// "[2, ?]"
inline std::string to_string(const Shape& shape) {
  return join(shape);
}
/// "int64 [2, ?]"
inline std::string to_string(const TensorType& type) {
  return join(type);
}

// Defined here because it formats the shape.
inline void Shape::refuse_axis(int axis) const {
  fail(ErrorKind::type, {"no axis ", axis, " in shape ", *this});
}

}  // namespace tenon
#pragma GCC visibility pop
