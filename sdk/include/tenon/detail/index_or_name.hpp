// How authors refer to a tensor in Infer, Call, Gradient, Compose and Prepare: by its index in
// describe(), or by its name there.
//
//     io.input(0), io.input("data")              // the first input, op.input("data", ...)
//     call.input<float>("data2")                 // the third tensor of a variadic input
//     call.input<float>(i)                       // any integer
//     io.input(nullptr), io.param_error(0, ...)  // do not compile
//
// The literal 0 is also a null pointer, which std::string_view would accept: here it is the index
// 0, and does not compile where only a name is allowed. A null pointer at run time is a name that
// no tensor has; errors print it as '(null)'.
#pragma once
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "../version.hpp"
#include "names.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Whether T is a text that owns or views characters, such as std::string and tenon::Text. Arrays
/// and pointers are not.
template <class T>
concept TextLike = std::is_convertible_v<const T&, std::string_view> &&
    !std::is_convertible_v<const T&, const char*>;

/// A name where an index is not allowed: that of an operator or parameter. It borrows the text.
///
///     g.add("mul", {dy, x}), g.add(name, {dy})  // name: any text
class OnlyName {
 public:
  constexpr OnlyName(const char* name)
      : text_(name ? std::string_view(name) : std::string_view("(null)")) {}
  template <TextLike T>
  constexpr OnlyName(const T& name) : text_(name) {}
  template <class T>
  requires std::is_arithmetic_v<T> OnlyName(T)
  = delete;
  OnlyName(std::nullptr_t) = delete;
  constexpr operator std::string_view() const { return text_; }

 private:
  std::string_view text_;
};

/// An index or a name. Functions take it by value: it converts from either and costs nothing once
/// they are inlined.
class IndexOrName {
 public:
  constexpr IndexOrName(int index) : index_(index) {}
  /// Other integers, and types that convert to one, such as std::integral_constant.
  template <class T>
  requires(std::is_convertible_v<const T&, int> &&
           !std::is_same_v<T, int>) constexpr IndexOrName(const T& index)
      : index_(static_cast<int>(index)) {}
  constexpr IndexOrName(const char* name) : name_(OnlyName(name)), named_(true) {}
  template <TextLike T>
  constexpr IndexOrName(const T& name) : name_(name), named_(true) {}
  IndexOrName(std::nullptr_t) = delete;

  constexpr bool named() const { return named_; }
  constexpr int index() const { return index_; }             ///< -1 for a name
  constexpr std::string_view name() const { return name_; }  ///< empty for an index
  /// Returns the index among `total` tensors, or -1 for an unknown name. An index may be out of
  /// range: the caller checks it.
  int in(const NameGroup& group, int total) const {
    return named_ ? group.find(name_, total) : index_;
  }

 private:
  std::string_view name_;
  int index_ = -1;
  bool named_ = false;
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
