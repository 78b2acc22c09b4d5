#include "io/json_text.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "io/utf8.hpp"

namespace tenon {
namespace {

constexpr std::uint64_t plain_nan = 0x7ff8000000000000;

template <class Real>
void append_finite(std::string& to, Real value) {
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  to += text;
  if (text.find_first_of(".e") == std::string_view::npos) to += ".0";
}

}  // namespace

void append_json_text(std::string& to, std::string_view text) {
  to += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (c == '\n') {
      to += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      to += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (const auto control = leading_control(text.substr(i, 3)); control != 0) {
      to += fmt::format("\\u{:04x}", control);
      i += control < 0x800 ? 1 : 2;
    } else {
      to += c;
    }
  }
  to += '"';
}

void append_json_number(std::string& to, std::int64_t value) {
  to += fmt::to_string(value);
}

void append_json_number(std::string& to, double value) {
  if (std::isfinite(value)) return append_finite(to, value);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  to += std::isinf(value)   ? (value > 0 ? "\"inf\"" : "\"-inf\"")
        : bits == plain_nan ? "\"nan\""
                            : fmt::format("\"nan(0x{:x})\"", bits);
}

void append_json_number(std::string& to, float value) {
  if (!std::isfinite(value)) return append_json_number(to, static_cast<double>(value));
  std::string shortest;
  append_finite(shortest, value);
  // Readers parse a double first. For a rare float, the shortest digits are so close to the
  // midpoint of two floats that double rounding goes wrong.
  const bool same = static_cast<float>(std::strtod(shortest.c_str(), nullptr)) == value;
  same ? void(to += shortest) : append_finite(to, static_cast<double>(value));
}

std::optional<double> special_number(std::string_view text) {
  constexpr auto infinity = std::numeric_limits<double>::infinity();
  if (text == "inf") return infinity;
  if (text == "-inf") return -infinity;
  if (text == "nan") return std::bit_cast<double>(plain_nan);
  if (!text.starts_with("nan(0x") || !text.ends_with(')')) return std::nullopt;
  const auto digits = text.substr(6, text.size() - 7);
  std::uint64_t bits = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  const auto value = std::bit_cast<double>(bits);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isnan(value))
    return std::nullopt;
  return value;
}

}  // namespace tenon
