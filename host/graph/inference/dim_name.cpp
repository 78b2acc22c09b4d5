#include "graph/inference/dim_name.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace tenon {

// True for a word that means "unknown", with or without a number, and for ASCII text without
// letters.
bool is_placeholder(std::string_view dim_name) {
  constexpr std::array<std::string_view, 10> words = {
      "", "unk", "unknown", "undefined", "none", "nil", "null", "nan", "any", "dynamic"};
  const auto is_ascii_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::string word;
  for (const char c : dim_name) {
    if (is_ascii_letter(c))
      word += static_cast<char>(c | 0x20);
    else if (static_cast<unsigned char>(c) > 127)
      return false;
  }
  if (std::find(words.begin(), words.end(), word) == words.end()) return false;
  // the word is not interrupted
  const auto first = std::find_if(dim_name.begin(), dim_name.end(), is_ascii_letter);
  const auto length =
      std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(word.size()), dim_name.end() - first);
  return std::all_of(first, first + length, is_ascii_letter);
}

}  // namespace tenon
