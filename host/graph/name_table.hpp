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
  std::uint32_t find(StringId name) const { return name < ids_.size() ? ids_[name] : unused; }
  /// Returns false if the name is taken.
  bool add(StringId name, std::uint32_t id) {
    if (name >= ids_.size()) ids_.resize(std::size_t{name} + 1, unused);
    if (ids_[name] != unused) return false;
    ids_[name] = id;
    return true;
  }
  void erase(StringId name) {
    if (name < ids_.size()) ids_[name] = unused;
  }
  void clear() { ids_.clear(); }
  /// Reserves space for StringIds below `texts`.
  void reserve(std::size_t texts) { ids_.reserve(texts); }
  /// Returns all names in use.
  std::vector<StringId> names() const {
    std::vector<StringId> used;
    for (StringId name = 0; name < ids_.size(); ++name)
      if (ids_[name] != unused) used.push_back(name);
    return used;
  }

 private:
  static constexpr std::uint32_t unused = 0xffffffff;
  std::vector<std::uint32_t> ids_;
};

}  // namespace tenon
