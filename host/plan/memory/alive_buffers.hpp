// A set of buffers that can be queried for those alive during given steps.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/memory/placement.hpp"

namespace tenon {

/// A binary tree in an array over all buffers, sorted by their first step; each inner node holds
/// the latest last step below it.
class AliveBuffers {
 public:
  explicit AliveBuffers(std::span<const Buffer> buffers);

  void insert(std::uint32_t id);
  void erase(std::uint32_t id);
  void clear();

  /// Calls found(id) for each buffer of the set that is alive at one of the steps [first, last];
  /// O(log n) for each.
  template <class Found>
  void find(std::uint32_t first, std::uint32_t last, Found&& found) const {
    const auto end = std::upper_bound(firsts_.begin(), firsts_.end(), last) - firsts_.begin();
    descend(1, 0, leaves_, static_cast<std::size_t>(end), first, found);
  }

 private:
  template <class Found>
  void descend(std::size_t node, std::size_t begin, std::size_t width, std::size_t end,
               std::uint32_t first, Found& found) const {
    if (begin >= end || ends_[node] <= first) return;
    if (width == 1) return found(by_first_[begin]);
    descend(2 * node, begin, width / 2, end, first, found);
    descend(2 * node + 1, begin + width / 2, width / 2, end, first, found);
  }
  void set(std::uint32_t id, std::uint32_t end);

  std::span<const Buffer> buffers_;
  std::size_t leaves_;
  std::vector<std::uint32_t> by_first_, leaf_of_;  // buffer of each leaf; leaf of each buffer
  std::vector<std::uint32_t> firsts_;              // of each leaf
  std::vector<std::uint32_t> ends_;  // last step plus 1; 0: no buffer of the set below this node
};

}  // namespace tenon
