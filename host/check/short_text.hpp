// A text of limited length, built without the heap, for signal handlers.
#pragma once
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace tenon::checks {

/// Async-signal-safe. Text beyond the limit is dropped.
class ShortText {
 public:
  ShortText& operator<<(std::string_view text) {
    for (const char letter : text)
      if (size_ < sizeof text_) text_[size_++] = letter;
    return *this;
  }
  ShortText& operator<<(std::int64_t number) {
    if (number < 0) *this << "-";
    return digits(
        number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number),
        10);
  }
  ShortText& hexadecimal(std::uint64_t number) { return (*this << "0x").digits(number, 16); }
  void clear() { size_ = 0; }
  std::string_view text() const { return {text_, size_}; }

 private:
  ShortText& digits(std::uint64_t number, int base) {
    char text[24];
    return *this << std::string_view(text, std::to_chars(text, std::end(text), number, base).ptr);
  }

  char text_[1500];
  std::size_t size_ = 0;
};

}  // namespace tenon::checks
