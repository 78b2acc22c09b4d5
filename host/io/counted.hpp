// Counts, sizes and lists of names in messages.
#pragma once
#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace tenon {

/// Returns `0 steps`, `1 step`, `2 steps`. `plural` is for words that need more than an s.
inline std::string counted(std::integral auto count, std::string_view word,
                           std::string_view plural = {}) {
  auto text = std::to_string(count).append(" ");
  if (count == 1) return text.append(word);
  return plural.empty() ? text.append(word).append("s") : text.append(plural);
}

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

/// Returns `a, b, c`, or `none`; if there are more than 16 names, as large files may have, only the
/// first ones: `a, ..., p and 84 more`.
template <class Names>
std::string listed(const Names& names, const char* separator = ", ") {
  constexpr std::size_t max_listed = 16;
  std::string text;
  std::size_t count = 0;
  for (const auto& name : names)
    if (count++ < max_listed)
      fmt::format_to(std::back_inserter(text), "{}{}", count > 1 ? separator : "", name);
  if (count > max_listed)
    fmt::format_to(std::back_inserter(text), " and {} more", count - max_listed);
  return count == 0 ? "none" : text;
}

}  // namespace tenon
