// CBOR (RFC 8949), as much of it as a manifest needs: definite lengths, shortest heads, 64-bit floats.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "select.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// Counts bytes, to learn how many a manifest takes.
struct ByteCounter {
  std::size_t size = 0;
  constexpr void put(unsigned) { ++size; }
  constexpr void put(std::string_view text) { size += text.size(); }
};

/// Writes bytes to where ByteCounter has made room, or appends them to a std::string.
struct ByteWriter {
  unsigned char* to;
  constexpr void put(unsigned byte) { *to++ = static_cast<unsigned char>(byte); }
  constexpr void put(std::string_view text) {
    for (const char c : text) *to++ = static_cast<unsigned char>(c);
  }
};

/// Writes one CBOR item after the other into Bytes, one of the two above. Arrays and maps are written as their head and then their items.
template <class Bytes>
class CborWriter {
 public:
  constexpr explicit CborWriter(Bytes& bytes) : bytes_(&bytes) {}

  constexpr void integer(std::int64_t value) {
    if (value >= 0) {
      head(0, static_cast<std::uint64_t>(value));
    } else {
      head(1, ~static_cast<std::uint64_t>(value));  // -1 - value
    }
  }
  constexpr void text(std::string_view text) {
    head(3, text.size());
    bytes_->put(text);
  }
  constexpr void array(std::size_t items) { head(4, items); }
  constexpr void map(std::size_t pairs) { head(5, pairs); }
  constexpr void boolean(bool value) { bytes_->put(value ? 0xF5u : 0xF4u); }
  constexpr void null() { bytes_->put(0xF6u); }
  constexpr void number(double value) {
    bytes_->put(0xFBu);
    big_endian(bits_as<std::uint64_t>(value), 8);
  }

 private:
  constexpr void head(unsigned major, std::uint64_t argument) {
    if (argument < 24) {
      bytes_->put(major << 5 | static_cast<unsigned>(argument));
    } else {
      const int log = argument <= 0xFF ? 0 : argument <= 0xFFFF ? 1 : argument <= 0xFFFFFFFF ? 2 : 3;
      bytes_->put(major << 5 | static_cast<unsigned>(24 + log));
      big_endian(argument, 1 << log);
    }
  }
  constexpr void big_endian(std::uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) bytes_->put(static_cast<unsigned>(value >> shift & 0xFF));
  }

  Bytes* bytes_;
};

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop
