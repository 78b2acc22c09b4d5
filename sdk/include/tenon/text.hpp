// A text parameter of an operator.
#pragma once
#include <string>
#include <string_view>

#include "error.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// A short text as a parameter member: `tenon::Text mode = "mean";`. A literal type, which std::string is not with clang 14, so that
/// describe() can read its default at compile time. There it points at the literal; at run time it owns a copy of what it was given, so a
/// parameter outlives the file or caller that it came from. Any length.
class Text {
 public:
  constexpr Text(const char* text = "") : Text(std::string_view(text)) {}
  constexpr Text(std::string_view text) : view_(text), owned_(!std::is_constant_evaluated() && !text.empty()) {
    if (owned_) view_ = copy(text);
  }
  Text(const std::string& text) : Text(std::string_view(text)) {}
  constexpr Text(const Text& other) : Text(other.view_) {}
  constexpr Text(Text&& other) noexcept : view_(other.view_), owned_(other.owned_) { other.forget(); }
  constexpr Text& operator=(Text other) noexcept {
    release();
    view_ = other.view_;
    owned_ = other.owned_;
    other.forget();
    return *this;
  }
  constexpr ~Text() { release(); }

  constexpr operator std::string_view() const { return view_; }
  constexpr std::size_t size() const { return view_.size(); }
  constexpr bool empty() const { return view_.empty(); }
  friend constexpr bool operator==(const Text& left, const Text& right) { return left.view_ == right.view_; }
  friend constexpr bool operator==(const Text& left, const char* right) { return left.view_ == std::string_view(right); }

 private:
  static std::string_view copy(std::string_view text) {
    char* memory = new char[text.size()];
    text.copy(memory, text.size());
    return {memory, text.size()};
  }
  constexpr void release() {
    if (owned_) delete[] view_.data();
  }
  constexpr void forget() {
    view_ = {};
    owned_ = false;
  }

  std::string_view view_;
  bool owned_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
