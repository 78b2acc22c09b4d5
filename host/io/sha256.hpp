// SHA-256, for what must not be forged. Checksums against accidents are XXH3, which is faster.
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
  void add(std::span<const std::byte> bytes) { sha256_update(&state_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data())); }
  /// In hexadecimal, of all that was added. The last call.
  std::string hexadecimal();

 private:
  sha256_ctx state_{};
};

/// 64 digits of 0-9 and a-f.
bool is_sha256(std::string_view text);

}  // namespace tenon
