#include "io/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace tenon;

namespace {

/// Unicode's definition: only encodings of scalar values are well-formed.
std::string encode(std::uint32_t point) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xc0 | point >> 6), byte(0x80 | (point & 0x3f))};
  if (point < 0x10000)
    return {byte(0xe0 | point >> 12), byte(0x80 | (point >> 6 & 0x3f)),
            byte(0x80 | (point & 0x3f))};
  return {byte(0xf0 | point >> 18), byte(0x80 | (point >> 12 & 0x3f)),
          byte(0x80 | (point >> 6 & 0x3f)), byte(0x80 | (point & 0x3f))};
}

}  // namespace

TEST_CASE("utf8: every scalar value is valid; surrogates and values above U+10FFFF are not") {
  std::uint32_t wrong = 0;
  for (std::uint32_t point = 0; point < 0x120000; ++point) {
    const bool scalar = point < 0x110000 && (point < 0xd800 || point > 0xdfff);
    wrong += is_utf8(encode(point)) != scalar;
  }
  CHECK(wrong == 0);
}

TEST_CASE("utf8: sequences of up to three bytes are valid exactly if they are encodings") {
  std::uint32_t wrong = 0;
  // a step of 7 covers every combination of the bytes' upper bits within a second
  for (std::uint32_t bits = 0; bits < 0x1000000; bits += 7) {
    const std::string text = {static_cast<char>(bits >> 16), static_cast<char>(bits >> 8),
                              static_cast<char>(bits)};
    const auto at = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
    };
    std::string copy;
    for (std::size_t i = 0; i < text.size();) {  // decodes without validation, and encodes again
      const auto length = at(i) < 0x80 ? 1U : at(i) < 0xe0 ? 2U : 3U;
      if (i + length > text.size()) break;
      const auto point = length == 1 ? at(i)
                         : length == 2
                             ? (at(i) & 0x1f) << 6 | (at(i + 1) & 0x3f)
                             : (at(i) & 0x0f) << 12 | (at(i + 1) & 0x3f) << 6 | (at(i + 2) & 0x3f);
      if (point >= 0xd800 && point <= 0xdfff) break;
      copy += encode(point);
      i += length;
    }
    wrong += is_utf8(text) != (copy == text);
  }
  CHECK(wrong == 0);
}

TEST_CASE("utf8: invalid sequences at every position of a longer text") {
  const std::string bad[] = {
      "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xe0\x9f\xbf",
      "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
      "\xff",         "\xe2\x82",         "\xf0\x9f\x92",     "\xc3"};
  for (const auto& bytes : bad)
    for (std::size_t before = 0; before < 20; ++before) {
      CHECK_FALSE(is_utf8(std::string(before, 'a') + bytes));
      CHECK_FALSE(is_utf8(std::string(before, 'a') + bytes + "abcdefghij"));
    }
  CHECK(is_utf8(""));
  CHECK(is_utf8(std::string(1000, 'a') + "ü€𝄞"));
}

TEST_CASE("utf8: names and printable texts") {
  CHECK(is_name("größe"));
  CHECK_FALSE(is_name(""));
  CHECK_FALSE(is_name("a\nb"));
  CHECK_FALSE(is_name("\x7f"));
  CHECK_FALSE(is_name("\xff"));
  CHECK(printable("a\x1b[m ü \xff") == "a\\x1b[m ü \\xff");
  CHECK(printable("a\nerror: b\tc\r\x7f") == "a\\x0aerror: b\\x09c\\x0d\\x7f");
  CHECK(printable("\u009b2J \u202eevil\u2069 \u00a0") ==
        "\\xc2\\x9b2J \\xe2\\x80\\xaeevil\\xe2\\x81\\xa9 \u00a0");
  CHECK(printable("\xe2\x80") == "\\xe2\\x80");
  CHECK(printable(printable("\x1b\n\xff")) == printable("\x1b\n\xff"));
  CHECK(printable_lines("a\n\tb\x1b\r\n\u202a") == "a\n\tb\\x1b\\x0d\n\\xe2\\x80\\xaa");
  CHECK(well_formed("a\x1b[m ü \xff\xe2\x82"
                    "b\xc3") == "a\x1b[m ü \ufffd\ufffd\ufffdb\ufffd");
  CHECK(well_formed("") == "");
}
