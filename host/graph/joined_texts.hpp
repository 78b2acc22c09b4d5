// Lists of strings joined into one, each followed by a zero byte, as used at the ABI boundary and
// in files.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// The strings must not contain zero bytes.
inline std::string joined_texts(const std::vector<std::string>& texts) {
  std::string joined;
  for (const auto& text : texts) joined.append(text).push_back('\0');
  return joined;
}

/// Whether the text is empty or ends with a zero byte.
inline bool are_joined_texts(std::string_view joined) {
  return joined.empty() || joined.back() == '\0';
}

/// Inverse of joined_texts(). Requires are_joined_texts().
inline std::vector<std::string> split_texts(std::string_view joined) {
  std::vector<std::string> texts;
  for (; !joined.empty(); joined.remove_prefix(texts.back().size() + 1))
    texts.emplace_back(joined.substr(0, joined.find('\0')));
  return texts;
}

}  // namespace tenon
