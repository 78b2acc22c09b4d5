// Whose name a text is.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/strings.hpp"

namespace tenon {

/// Text -> node or value. By the texts' numbers, which are as dense as a graph's names: a million of them are copied at once.
class NameTable {
 public:
  /// 0xffffffff where nobody has this name, and for a text that is not there.
  std::uint32_t find(StringId name) const { return name < ids_.size() ? ids_[name] : nobody; }
  /// False where the name is taken.
  bool add(StringId name, std::uint32_t id) {
    if (name >= ids_.size()) ids_.resize(std::size_t{name} + 1, nobody);
    if (ids_[name] != nobody) return false;
    ids_[name] = id;
    return true;
  }
  void erase(StringId name) {
    if (name < ids_.size()) ids_[name] = nobody;
  }
  void clear() { ids_.clear(); }
  /// For texts below that number.
  void reserve(std::size_t texts) { ids_.reserve(texts); }
  /// All that are taken.
  std::vector<StringId> names() const {
    std::vector<StringId> taken;
    for (StringId name = 0; name < ids_.size(); ++name)
      if (ids_[name] != nobody) taken.push_back(name);
    return taken;
  }

 private:
  static constexpr std::uint32_t nobody = 0xffffffff;
  std::vector<std::uint32_t> ids_;
};

}  // namespace tenon
