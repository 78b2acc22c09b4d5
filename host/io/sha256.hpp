// SHA-256, for security. Checksums against accidental corruption use XXH3, which is faster.
#pragma once
#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

class Sha256 {
 public:
  Sha256() { sha256_init(&state_); }
  void add(std::span<const std::byte> bytes) {
    sha256_update(&state_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
  }
  /// Returns the digest of everything added, in hexadecimal. Must be the last call.
  std::string hexadecimal() {
    static constexpr const char* digits = "0123456789abcdef";
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
    sha256_digest(&state_, digest.size(), digest.data());
    std::string text;
    for (const auto byte : digest) {
      text += digits[byte >> 4];
      text += digits[byte & 15];
    }
    return text;
  }

 private:
  sha256_ctx state_{};
};

/// Returns whether the text is 64 digits of 0-9 and a-f.
inline bool is_sha256(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == std::size_t{2} * SHA256_DIGEST_SIZE &&
         std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace tenon
