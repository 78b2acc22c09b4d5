// Byte counts in human-readable form.
#pragma once
#include <cstdint>
#include <string>

namespace tenon {

/// Returns `17 B`, `4.0 KiB`, `1.5 GiB`: one decimal, truncated, not rounded.
inline std::string readable_bytes(std::uint64_t bytes) {
  static constexpr const char* units[] = {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  int unit = 0;
  while (bytes >= std::uint64_t{1024} * 1024) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes / 1024) + "." + std::to_string(bytes % 1024 * 10 / 1024) +
         units[unit];
}

}  // namespace tenon
