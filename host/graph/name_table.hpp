// Maps names to nodes or values.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/strings.hpp"

namespace tenon {

/// Indexed by StringId, which is dense, so a million names are copied with one memcpy.
class NameTable {
 public:
  /// Returns 0xffffffff if the name is unused or the StringId is out of range.
  std::uint32_t find(StringId name) const { return name < ids_.size() ? ids_[name] : nobody; }
  /// Returns false if the name is taken.
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
  /// Reserves space for StringIds below `texts`.
  void reserve(std::size_t texts) { ids_.reserve(texts); }
  /// Returns all names in use.
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
