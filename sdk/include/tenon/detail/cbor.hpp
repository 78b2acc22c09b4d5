// The subset of CBOR (RFC 8949) that a manifest needs: definite lengths, shortest heads, 64-bit
// floats. It is written at compile time, and read by the host before it trusts the file; other
// tools can read it with any CBOR library.
//
//     item          first byte                 then
//     integer       0x00 + n, or 0x20 + n      for n and for -1 - n, n from 0 to 23; larger n: 24
//                                              to 27 in place of n, then 1, 2, 4 or 8
//                                              bytes of n, big endian
//     text          0x60 + length              the bytes of the text, UTF-8
//     array         0x80 + items               the items
//     map           0xA0 + pairs               key, value, key, value ...
//     false, true   0xF4, 0xF5
//     null          0xF6                       "not set"
//     number        0xFB                       8 bytes: a double, big endian
//
// Lengths and counts above 23 are encoded like larger integers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../select.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Counts the bytes of a manifest. Has the interface of ByteWriter and is passed in its place.
struct ByteCounter {
  std::size_t size = 0;
  constexpr void put(unsigned) { ++size; }
  constexpr void put(std::string_view text) { size += text.size(); }
};

/// Writes bytes to memory of the size that ByteCounter computed.
struct ByteWriter {
  unsigned char* to;
  constexpr void put(unsigned byte) { *to++ = static_cast<unsigned char>(byte); }
  constexpr void put(std::string_view text) {
    for (const char c : text) *to++ = static_cast<unsigned char>(c);
  }
};

/// Writes CBOR items to Bytes, one of the two classes above. Arrays and maps are written as their
/// head followed by their items:
///
///     CborWriter out(bytes);
///     out.map(1), out.text("name"), out.text("relu");  // A1 64 6E616D65 64 72656C75
template <class Bytes>
class CborWriter {
 public:
  constexpr explicit CborWriter(Bytes& bytes) : bytes_(&bytes) {}

  /// Any int64.
  constexpr void integer(std::int64_t value) {
    if (value >= 0) {
      head(0, static_cast<std::uint64_t>(value));
    } else {
      head(1, ~static_cast<std::uint64_t>(value));  // -1 - value
    }
  }
  /// The caller ensures valid UTF-8, as describe()'s literals are.
  constexpr void text(std::string_view text) {
    head(3, text.size());
    bytes_->put(text);
  }
  /// Writes only the head: write this many items next, or for a map this many pairs.
  constexpr void array(std::size_t items) { head(4, items); }
  constexpr void map(std::size_t pairs) { head(5, pairs); }
  constexpr void boolean(bool value) { bytes_->put(value ? 0xF5u : 0xF4u); }
  /// For what an author did not specify.
  constexpr void null() { bytes_->put(0xF6u); }
  /// Always 64 bits, so that every number is preserved, including -0.0, infinities and NaN.
  constexpr void number(double value) {
    bytes_->put(0xFBu);
    big_endian(bits_as<std::uint64_t>(value), 8);
  }

 private:
  // Uses the shortest head for this argument: equal manifests have equal bytes.
  constexpr void head(unsigned major, std::uint64_t argument) {
    if (argument < 24) {
      bytes_->put(major << 5 | static_cast<unsigned>(argument));
    } else {
      const int log = argument <= 0xFF         ? 0
                      : argument <= 0xFFFF     ? 1
                      : argument <= 0xFFFFFFFF ? 2
                                               : 3;
      bytes_->put(major << 5 | static_cast<unsigned>(24 + log));
      big_endian(argument, 1 << log);
    }
  }
  // Most significant byte first.
  constexpr void big_endian(std::uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
      bytes_->put(static_cast<unsigned>(value >> shift & 0xFF));
  }

  Bytes* bytes_;  // owned by the caller
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
