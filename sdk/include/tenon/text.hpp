// Texts as parameters of an operator.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "error.hpp"
#include "list.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// A text as a parameter member:
///
///     tenon::Text mode = "mean";  // the default
///     // or any text, without one_of
///     op.param("mode", &Reduce::mode, "how to reduce").one_of({"mean", "sum"});
///     if (mode == "sum") ...  // compare it in configure(), not per element
///
/// Prefer an enum with .one_of for a fixed choice: it compares faster and cannot be misspelt in the
/// class.
///
/// A literal type, which std::string is not with clang 14, so that describe() can read its default
/// at compile time. There it points to the literal; at run time it owns a copy, so a parameter
/// outlives the file or caller that it came from. UTF-8 of any length, not necessarily
/// NUL-terminated: pass on the std::string_view, not data(). Not for CUDA kernels: it owns host
/// memory.
class Text {
 public:
  /// A null pointer is the empty text, which is also the default. The literals 0 and nullptr do not
  /// compile.
  constexpr Text(const char* text = "") : Text(std::string_view(text != nullptr ? text : "")) {}
  Text(std::nullptr_t) = delete;
  constexpr Text(std::string_view text)
      : view_(text), owned_(!std::is_constant_evaluated() && !text.empty()) {
    if (owned_) view_ = copy(text);
  }
  Text(const std::string& text) : Text(std::string_view(text)) {}
  constexpr Text(const Text& other) : Text(other.view_) {}
  constexpr Text(Text&& other) noexcept : view_(other.view_), owned_(other.owned_) {
    other.forget();
  }
  constexpr Text& operator=(Text other) noexcept {
    release();
    view_ = other.view_;
    owned_ = other.owned_;
    other.forget();
    return *this;
  }
  constexpr ~Text() { release(); }

  /// The characters, valid until this object is assigned or destroyed.
  constexpr operator std::string_view() const { return view_; }
  constexpr std::size_t size() const { return view_.size(); }  ///< bytes
  constexpr bool empty() const { return view_.empty(); }
  /// Bytewise: no case folding, no Unicode normalization.
  friend constexpr bool operator==(const Text& left, const Text& right) {
    return left.view_ == right.view_;
  }
  friend constexpr bool operator==(const Text& left, const char* right) {
    return left.view_ == std::string_view(right != nullptr ? right : "");
  }
  friend bool operator==(const Text&, std::nullptr_t) = delete;

 private:
  static std::string_view copy(std::string_view text) {
    char* memory = new char[text.size()];
    text.copy(memory, text.size());
    return {memory, text.size()};
  }
  constexpr void release() {
    if (owned_) delete[] view_.data();
  }
  constexpr void forget() {  // the other object owns the characters now
    view_ = {};
    owned_ = false;
  }

  std::string_view view_;
  bool owned_;  // false: view_ points to a literal, or is empty
};

/// Up to 32 texts as a parameter member:
///
///     tenon::Texts names = {"height", "width"};  // the default
///     // applies to each text; optional
///     op.param("names", &Resample::names, "the axes").one_of({"height", "width"});
///     for (const tenon::Text& name : names) ...
///
/// A text of the list cannot contain a zero byte, which ends it at the boundary. Users write ["a",
/// "b"] in graph.json and --set names=a,b. Operators with such a parameter need Tenon 0.2.
using Texts = List<Text>;

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
