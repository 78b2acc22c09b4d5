// Lists of names in messages.
#pragma once
#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <string>

namespace tenon {

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
