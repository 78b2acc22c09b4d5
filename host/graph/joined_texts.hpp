// Lists of texts as one text: each with a zero byte behind it, as they cross the boundary and stand in files.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// The texts must have no zero bytes.
inline std::string joined_texts(const std::vector<std::string>& texts) {
  std::string joined;
  for (const auto& text : texts) joined.append(text).push_back('\0');
  return joined;
}

/// Empty, or ending with a zero byte.
inline bool are_joined_texts(std::string_view joined) {
  return joined.empty() || joined.back() == '\0';
}

/// Of what are_joined_texts().
inline std::vector<std::string> split_texts(std::string_view joined) {
  std::vector<std::string> texts;
  for (; !joined.empty(); joined.remove_prefix(texts.back().size() + 1)) texts.emplace_back(joined.substr(0, joined.find('\0')));
  return texts;
}

}  // namespace tenon
