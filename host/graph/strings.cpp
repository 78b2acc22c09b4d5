#include "graph/strings.hpp"

namespace tenon {

Strings::Strings() {
  intern("");
}

Strings::Strings(const Strings& other) {
  *this = other;
}

Strings& Strings::operator=(const Strings& other) {
  if (this == &other) return *this;
  texts_ = other.texts_;
  ids_.clear();
  ids_.reserve(texts_.size());
  for (StringId id = 0; id < texts_.size(); ++id) ids_.emplace(texts_[id], id);
  return *this;
}

StringId Strings::intern(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  const auto id = static_cast<StringId>(texts_.size());
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

}  // namespace tenon
