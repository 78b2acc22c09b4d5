// SHA-256, for security. Checksums against accidental corruption use XXH3, which is faster.
#pragma once
#include <nettle/sha2.h>

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
  std::string hexadecimal();

 private:
  sha256_ctx state_{};
};

/// Returns whether the text is 64 digits of 0-9 and a-f.
bool is_sha256(std::string_view text);

}  // namespace tenon
