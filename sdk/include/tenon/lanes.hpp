// Distribution and summation of the micro-batches ("lanes") of a training step: the sums do not
// depend on which process computed them. Uses only the standard library, so that a trainer, a
// transport and a test with a thousand ranks run the same code.
//
// A lane is a part of a step that one process computes. Lanes are added by a balanced tree whose
// shape depends only on their number: for seven, ((0+1)+(2+3)) + ((4+5)+6). Each process has
// neighbouring lanes that form a subtree, whose sum it computes by itself:
//
//     // ranks 0, 1 and 2 have lanes 0-1, 2-3 and 4-7
//     const auto owners = tenon::LaneOwners::even(8, 3);
//     const auto begin = owners.first(rank);
//     const auto end = rank + 1 < owners.ranks() ? owners.first(rank + 1) : lanes;
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// `count` neighbouring lanes, at least two, are added as two sums; returns the number of lanes of
/// the left one, the largest power of two below count.
constexpr std::int64_t left_lanes(std::int64_t count) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - 1)));
}

/// Which lanes each process has: rank r has those from first[r] up to first[r + 1], the last rank
/// all remaining ones. Ascending, from 0.
class LaneOwners {
 public:
  LaneOwners() : first_{0} {}  ///< one process
  explicit LaneOwners(std::vector<std::int64_t> first) : first_(std::move(first)) {}

  /// Assigns one subtree each to at most as many ranks as lanes, so that a rank sends one value and
  /// waits for other ranks only after it has run all its lanes. The largest subtree is split until
  /// there are enough: no rank has more than twice its share of the lanes.
  static LaneOwners even(std::int64_t lanes, int ranks) {
    std::vector<std::int64_t> first{0}, count{lanes};
    while (static_cast<int>(first.size()) < ranks) {
      const auto largest = std::max_element(count.begin(), count.end()) - count.begin();
      const auto all = count[static_cast<std::size_t>(largest)], left = left_lanes(all);
      first.insert(first.begin() + largest + 1, first[static_cast<std::size_t>(largest)] + left);
      count.insert(count.begin() + largest + 1, all - left);
      count[static_cast<std::size_t>(largest)] = left;
    }
    return LaneOwners(std::move(first));
  }

  /// The number of processes that have lanes.
  int ranks() const { return static_cast<int>(first_.size()); }
  /// The process that has the lane; lane is 0 or more.
  int owner(std::int64_t lane) const {
    return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), lane) - first_.begin()) -
           1;
  }
  /// The first lane of a process; rank is from 0 to ranks() - 1.
  std::int64_t first(int rank) const { return first_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<std::int64_t> first_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
