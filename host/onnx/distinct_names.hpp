// Whether a name was there before.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "onnx/budget.hpp"

namespace tenon::onnx {

/// The names' bytes belong to others. Its memory is charged while it lives.
class DistinctNames {
 public:
  /// `most`: how many names will be added at most.
  DistinctNames(std::size_t most, Budget& budget);
  ~DistinctNames() { budget_.give_back(slots_.size() * sizeof(std::string_view)); }
  DistinctNames(const DistinctNames&) = delete;
  DistinctNames& operator=(const DistinctNames&) = delete;

  /// False where it was there.
  bool add(std::string_view name);

 private:
  Budget& budget_;
  std::vector<std::string_view> slots_;  // open addressing; a power of two, at most half full; no name: a null pointer
};

}  // namespace tenon::onnx
