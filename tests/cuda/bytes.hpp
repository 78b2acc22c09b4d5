// Bytes that differ between offsets.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

/// The period is prime, so that parts copied to a wrong offset are found.
inline std::vector<std::byte> some_bytes(std::uint64_t count, unsigned seed) {
  std::vector<std::byte> bytes(count);
  for (std::uint64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((i + seed) % 251 + 1);
  return bytes;
}
