#include "file/tenon/file_texts.hpp"

namespace tenon {

FileTexts::FileTexts(const Strings& strings) : strings_(strings), seen_(strings.size(), unseen) {
  numbers_.reserve(strings.size());
  (*this)(std::string_view());
}

std::uint32_t FileTexts::operator()(StringId id) {
  if (seen_[id] == unseen) seen_[id] = (*this)(strings_[id]);
  return seen_[id];
}

std::uint32_t FileTexts::operator()(std::string_view text) {
  const auto [found, added] = numbers_.try_emplace(text, static_cast<std::uint32_t>(order_.size()));
  if (added) order_.push_back(text);
  return found->second;
}

}  // namespace tenon
