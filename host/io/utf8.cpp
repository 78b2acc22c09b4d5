#include "io/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tenon {
namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

std::size_t skip_ascii(std::string_view text, std::size_t i) {
  for (std::uint64_t word = 0; i + sizeof word <= text.size(); i += sizeof word) {
    std::memcpy(&word, text.data() + i, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
  return i;
}

/// Returns the length of the well-formed multi-byte sequence at the beginning of `text`; 0 if there
/// is none. Unicode 15, table 3-7.
std::size_t sequence_length(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = at(0);
  const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                             : first >= 0xe0 && first <= 0xef ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  // The second byte's range excludes overlong forms (e0, f0), surrogates (ed) and values above
  // U+10FFFF (f4).
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (length == 0 || at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  return length;
}

/// Decodes a well-formed sequence.
std::uint32_t code_point(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first;
  std::uint32_t value = first & (0x7fU >> sequence.size());
  for (const char c : sequence.substr(1))
    value = value << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  return value;
}

bool drives_terminal(std::uint32_t point) {
  if (point == '\n' || point == '\t') return false;
  const bool turns_text_around =
      (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || turns_text_around;
}

enum class Lines { one, several };

std::string shown(std::string_view text, Lines lines) {
  std::string out;
  while (!text.empty()) {
    const auto length =
        static_cast<unsigned char>(text[0]) < 0x80 ? std::size_t{1} : sequence_length(text);
    const auto sequence = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(sequence.size());
    const bool breaks = lines == Lines::one && (sequence[0] == '\n' || sequence[0] == '\t');
    if (length > 0 && !breaks && !drives_terminal(code_point(sequence)))
      out += sequence;
    else
      for (const char byte : sequence)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return out;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_word(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= 128 && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), is_word);
}

bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const auto length =
        static_cast<unsigned char>(text[0]) < 0x80 ? std::size_t{1} : sequence_length(text);
    if (length == 0 || drives_terminal(code_point(text.substr(0, length)))) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = skip_ascii(text, 0); i < text.size(); i = skip_ascii(text, i)) {
    const auto length = sequence_length(text.substr(i));
    if (length == 0) return false;
    i += length;
  }
  return true;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), is_control) && is_utf8(text);
}

std::string well_formed(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto length = std::max(skip_ascii(text, 0), sequence_length(text));
    out += length == 0 ? "\ufffd" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::uint32_t leading_control(std::string_view text) {
  const auto length = sequence_length(text);
  const auto point = length == 0 ? 0 : code_point(text.substr(0, length));
  return point != 0 && drives_terminal(point) ? point : 0;
}

std::string printable(std::string_view text) {
  return shown(text, Lines::one);
}

std::string printable_lines(std::string_view text) {
  return shown(text, Lines::several);
}

}  // namespace tenon
