// Small tensors as parameters of an operator.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "abi.h"
#include "error.hpp"
#include "shape.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// A tensor as a parameter member, also for lists of more than 32 numbers; T is std::int32_t,
/// std::int64_t, float or double:
///
///     tenon::Table<float> taps = {1, 2, 1};  // the default, shape [3]; without it: shape [0]
///     // bounds apply to each element
///     op.param("taps", &Fir::taps, "[taps] of the filter").required().greater_than(0);
///     for (std::int64_t i = 0; i < taps.size(); ++i) sum += taps[i] * x[i];  // row by row
///     io.require(taps.shape().rank() == 1, "taps are ", taps, " but must be a list");
///
/// Users write nested lists in graph.json, --set taps=1,2,1 or --set taps=taps.npy. At most 65536
/// elements; larger data belong into an input. A literal type, so that describe() can read its
/// default of at most 32 elements, which are stored inline; more elements are on the heap. Not for
/// CUDA kernels: copy the elements that they need. Operators with such a parameter need Tenon 0.2.
///
/// Passed to another operator: c.add("fir", {x}, {{"taps", taps}}), in gradient() and in
/// forward(tenon::Compose&).
template <class T>
class Table {
  static_assert(std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t> ||
                    std::is_same_v<T, float> || std::is_same_v<T, double>,
                "the elements of a Table are std::int32_t, std::int64_t, float or double");

 public:
  static constexpr std::int64_t inside = 32;  ///< maximum number of elements stored inline

  /// A list with shape [n]. Error (parameter): more than 32 values.
  constexpr Table(std::initializer_list<T> values = {})
      : Table(values.begin(), checked(static_cast<std::int64_t>(values.size())),
              std::make_index_sequence<inside>()) {}
  /// Copies shape.size() elements, row by row; the shape must be known. Not constexpr.
  Table(const Shape& shape, const T* elements)
      : Table(elements, 0, std::make_index_sequence<inside>()) {
    rank_ = shape.rank(), size_ = shape.size();
    for (int axis = 0; axis < rank_; ++axis) dims_[axis] = shape[axis];
    if (size_ > inside) allocated_ = new T[static_cast<std::size_t>(size_)];
    for (std::int64_t i = 0; i < size_; ++i) (allocated_ ? allocated_ : inline_)[i] = elements[i];
  }
  /// A copy owns its elements; a moved-from table is empty, with shape [0].
  constexpr Table(const Table& other)
      : Table(other.inline_, other.size_, std::make_index_sequence<inside>()) {
    copy(other);
  }
  constexpr Table(Table&& other) noexcept
      : Table(other.inline_, other.size_, std::make_index_sequence<inside>()) {
    take(other);
  }
  constexpr Table& operator=(Table other) noexcept {
    for (std::int64_t i = 0; i < inside; ++i) inline_[i] = other.inline_[i];
    size_ = other.size_;
    delete[] allocated_;
    allocated_ = nullptr;
    take(other);
    return *this;
  }
  constexpr ~Table() {
    if (allocated_) delete[] allocated_;
  }

  /// The shape, fully known; [] for a scalar. It comes from the user, so check the rank in
  /// configure().
  Shape shape() const { return Shape(dims_, rank_); }
  constexpr int rank() const { return rank_; }  ///< 0 to 8
  constexpr const std::int64_t* dims() const {
    return dims_;
  }                                                      ///< rank() dimensions, as in shape()
  constexpr std::int64_t size() const { return size_; }  ///< number of elements
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T& operator[](std::int64_t i) const {
    return begin()[i];
  }  ///< element i in row-major order; not checked
  /// Contiguous, row by row; valid until this object is assigned or destroyed.
  constexpr const T* begin() const { return allocated_ ? allocated_ : inline_; }
  constexpr const T* end() const { return begin() + size_; }

  /// True if shapes and elements are equal; NaN equals nothing.
  friend bool operator==(const Table& left, const Table& right) {
    if (!(left.shape() == right.shape())) return false;
    for (std::int64_t i = 0; i < left.size_; ++i)
      if (!(left[i] == right[i])) return false;
    return true;
  }

 private:
  // Checks the number of values in braces.
  static constexpr std::int64_t checked(std::int64_t size) {
    if (size > inside)
      fail(ErrorKind::parameter, {"a table in braces holds at most 32 values, not ", size});
    return size;
  }

  // No loop in a body, here and in the functions that construct defaults: g++ 12 considers it a
  // modification of a constant object (list.hpp).
  template <std::size_t... I>
  constexpr Table(const T* elements, std::int64_t size, std::index_sequence<I...>)
      : inline_{(static_cast<std::int64_t>(I) < size && size <= inside ? elements[I] : T())...},
        size_(size),
        dims_{size} {}
  // Copies the elements beyond the inline ones, which a default does not have.
  constexpr void copy(const Table& other) {
    if (std::is_constant_evaluated()) return;  // a default has only inline elements
    copy_shape(other);
    if (other.allocated_) allocated_ = new T[static_cast<std::size_t>(size_)];
    for (std::int64_t i = 0; other.allocated_ && i < size_; ++i)
      allocated_[i] = other.allocated_[i];
  }
  // Takes the heap memory of another table.
  constexpr void take(Table& other) {
    if (std::is_constant_evaluated()) return;  // as above
    copy_shape(other);
    allocated_ = other.allocated_;
    other.allocated_ = nullptr, other.size_ = 0, other.rank_ = 1, other.dims_[0] = 0;
  }
  constexpr void copy_shape(const Table& other) {
    rank_ = other.rank_;
    for (int axis = 0; axis < max_rank; ++axis) dims_[axis] = other.dims_[axis];
  }

  T inline_[inside];             // elements of smaller tables, zero-padded
  T* allocated_ = nullptr;       // all elements, if they do not fit inline
  std::int64_t size_;            // the product of the dimensions
  std::int64_t dims_[max_rank];  // entries from rank_ on are unspecified
  int rank_ = 1;
};

/// "[1, 2, 1]"; for other ranks "[2, 2] of 1, 2, 3, 4"; for errors. Truncated after 8 elements.
template <class T>
void append_part(std::string& text, const Table<T>& table) {
  const bool list = table.shape().rank() == 1;
  append_text(text, list ? "[" : join(table.shape(), " of "));
  for (std::int64_t i = 0; i < table.size() && i < 8; ++i)
    append_text(text, join(i ? ", " : "", table[i]));
  append_text(text, join(table.size() > 8 ? ", ..." : "", list ? "]" : ""));
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
