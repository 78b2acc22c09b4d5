// A hash set that detects duplicate names.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "onnx/budget.hpp"

namespace tenon::onnx {

/// Does not own the names' bytes. Its memory is charged to the budget while it exists.
class DistinctNames {
 public:
  /// `max_names`: the maximum number of names that will be added.
  DistinctNames(std::size_t max_names, Budget& budget);
  ~DistinctNames() { budget_.give_back(slots_.size() * sizeof(std::string_view)); }
  DistinctNames(const DistinctNames&) = delete;
  DistinctNames& operator=(const DistinctNames&) = delete;

  /// Returns false if the name is already in the set.
  bool add(std::string_view name);

 private:
  Budget& budget_;
  // open addressing; power-of-two size, at most half full; a null pointer marks an empty slot
  std::vector<std::string_view> slots_;
};

}  // namespace tenon::onnx
