#include "io/plain_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tenon {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_word(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

struct CodePoint {
  std::uint32_t value;
  std::size_t length;  // bytes; 0: not UTF-8
};

constexpr CodePoint invalid{0, 0};

CodePoint code_point_at(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[i + k]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > text.size() - i) return invalid;
  std::uint32_t value = first & (0x7fU >> length);
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0U) != 0x80U) return invalid;
    value = value << 6U | (byte(k) & 0x3fU);
  }
  constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};  // by length: anything less is an overlong form
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  return value < smallest[length] || surrogate || value > 0x10ffff ? invalid : CodePoint{value, length};
}

bool is_control(std::uint32_t value) {
  if (value == '\n' || value == '\t') return false;
  const bool turns_text_around = (value >= 0x202a && value <= 0x202e) || (value >= 0x2066 && value <= 0x2069);
  return value < 0x20 || (value >= 0x7f && value < 0xa0) || turns_text_around;
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= 128 && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_word);
}

bool is_plain_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = code_point_at(text, i);
    if (point.length == 0 || is_control(point.value)) return false;
    i += point.length;
  }
  return true;
}

}  // namespace tenon
