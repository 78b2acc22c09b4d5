// Every text of a graph, once.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tenon {

using StringId = std::uint32_t;

/// Text <-> number. Number 0 is the empty text. Views stay valid as long as the table.
class Strings {
 public:
  Strings();
  Strings(const Strings& other);
  Strings& operator=(const Strings& other);
  Strings(Strings&&) = default;
  Strings& operator=(Strings&&) = default;
  ~Strings() = default;

  StringId intern(std::string_view text);
  /// 0xffffffff where the text is not here.
  StringId find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? 0xffffffff : found->second;
  }
  std::string_view operator[](StringId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }
  void reserve(std::size_t count) { ids_.reserve(count); }

 private:
  std::deque<std::string> texts_;  // a deque never moves its elements, so the views in ids_ stay valid
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace tenon
