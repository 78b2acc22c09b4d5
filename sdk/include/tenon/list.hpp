// Short lists as parameters of an operator.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "error.hpp"
#include "fn.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Up to 32 numbers as a parameter member:
///
///     tenon::Ints kernel = {3, 3};  // the default
///     // bounds apply to each value
///     op.param("kernel", &Pool::kernel, "size of the window").at_least(1);
///     io.require(kernel.size() == 2, "kernel ", kernel, " needs two values");  // prints as [3, 3]
///     for (const std::int64_t size : kernel) volume *= size;  // in order
///
/// A literal type with inline storage, so that it is trivially copied: an elementwise operator with
/// lists can be passed to a CUDA kernel, unlike one with a list that allocates. The capacity of 32
/// is four numbers for each of 8 axes; use a Table (number_table.hpp) for longer lists, and an
/// input for data. Error (parameter): more than 32 values. A list has no push_back: assign a new
/// one, usually in configure().
template <class T>
class List {
 public:
  static constexpr std::size_t capacity = 32;  ///< maximum number of values

  /// The default is the empty list, which an operator may treat as "all axes" or "as large as the
  /// input".

  constexpr List(std::initializer_list<T> values = {}) : List(values.begin(), values.size()) {}
  /// Copies `size` values.
  constexpr List(const T* values, std::size_t size)
      : List(values, checked(size), std::make_index_sequence<capacity>()) {}

  TENON_FN constexpr std::size_t size() const { return size_; }
  TENON_FN constexpr bool empty() const { return size_ == 0; }
  TENON_FN constexpr const T& operator[](std::size_t i) const {
    return values_[i];
  }  ///< i below size(); not checked
  /// The values are contiguous: begin()[i] is value i.
  TENON_FN constexpr const T* begin() const { return values_; }
  TENON_FN constexpr const T* end() const { return values_ + size_; }

  /// True if both have equally many values and these are equal; NaN equals nothing.
  friend constexpr bool operator==(const List& left, const List& right) {
    if (left.size_ != right.size_) return false;
    for (std::size_t i = 0; i < left.size_; ++i)
      if (!(left.values_[i] == right.values_[i])) return false;
    return true;
  }

 private:
  static constexpr std::size_t checked(std::size_t size) {
    if (size > capacity)
      fail(ErrorKind::parameter, {"a list parameter holds at most 32 values, not ", size});
    return size;
  }

  // No loop in a body: g++ 12 considers it a modification of a constant object if the enclosing
  // class has a destructor.
  template <std::size_t... I>
  constexpr List(const T* values, std::size_t size, std::index_sequence<I...>)
      : values_{(I < size ? values[I] : T())...}, size_(size) {}

  T values_[capacity];
  std::size_t size_;
};

/// The numeric list types of parameters; Texts is in text.hpp. Users write [1, 2] in graph.json and
/// --set kernel=1,2; integers are accepted for Floats.
using Ints = List<std::int64_t>;
using Floats = List<double>;

/// "[1, 2]" or "['a', 'b']", for errors.
template <class T>
void append_part(std::string& text, const List<T>& list) {
  append_text(text, "[");
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i) append_text(text, ", ");
    const char* const quote = std::is_arithmetic_v<T> ? "" : "'";
    append_text(text, quote);
    MessagePart(list[i]).append_to(text);
    append_text(text, quote);
  }
  append_text(text, "]");
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
