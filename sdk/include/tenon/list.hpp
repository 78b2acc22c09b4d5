// Short lists of numbers as parameters of an operator.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "error.hpp"
#include "fn.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Up to 32 numbers as a parameter member: `tenon::Ints kernel = {3, 3};`. A literal type whose values lie inside it, so that it is copied
/// byte by byte: an element-wise operator with lists can be handed to a CUDA kernel as it is, which would not hold for a list that
/// allocates. 32 is four numbers for each of 8 axes; longer lists are data and belong into an input. Error: more than 32 values.
template <class T>
class List {
 public:
  static constexpr std::size_t capacity = 32;

  constexpr List(std::initializer_list<T> values = {}) : List(values.begin(), values.size()) {}
  constexpr List(const T* values, std::size_t size) : List(values, checked(size), std::make_index_sequence<capacity>()) {}

  TENON_FN constexpr std::size_t size() const { return size_; }
  TENON_FN constexpr bool empty() const { return size_ == 0; }
  TENON_FN constexpr const T& operator[](std::size_t i) const { return values_[i]; }  ///< i below size(); not checked
  TENON_FN constexpr const T* begin() const { return values_; }
  TENON_FN constexpr const T* end() const { return values_ + size_; }

  friend constexpr bool operator==(const List& left, const List& right) {
    if (left.size_ != right.size_) return false;
    for (std::size_t i = 0; i < left.size_; ++i)
      if (!(left.values_[i] == right.values_[i])) return false;
    return true;
  }

 private:
  static constexpr std::size_t checked(std::size_t size) {
    if (size > capacity) fail(ErrorKind::parameter, {"a list parameter holds at most 32 values, not ", size});
    return size;
  }

  // No loop in a body: g++ 12 takes that for a change of a constant object where the class around has a destructor.
  template <std::size_t... I>
  constexpr List(const T* values, std::size_t size, std::index_sequence<I...>) : values_{(I < size ? values[I] : T())...}, size_(size) {}

  T values_[capacity];
  std::size_t size_;
};

using Ints = List<std::int64_t>;
using Floats = List<double>;

/// "[1, 2]"
template <class T>
void append_part(std::string& text, const List<T>& list) {
  append_text(text, "[");
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i) append_text(text, ", ");
    Part(list[i]).append_to(text);
  }
  append_text(text, "]");
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
