// Numbers with the word for what they count.
#pragma once
#include <concepts>
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

}  // namespace tenon
