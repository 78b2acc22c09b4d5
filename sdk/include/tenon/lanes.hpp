// How the lanes of a training step are dealt to processes and added: the same sums whoever computed them. Nothing but the standard library
// is in here, so that a trainer, a transport and a test of a thousand ranks use the same lines.
//
// A lane is a part of a step that one process computes. Lanes are added by a balanced tree, whose shape follows from their number alone: of
// seven, ((0+1)+(2+3)) + ((4+5)+6). A process has neighbouring lanes that are one sum of the tree, which it adds by itself:
//
//     const auto owners = tenon::LaneOwners::even(8, 3);                     // ranks 0, 1 and 2 have lanes 0-1, 2-3 and 4-7
//     const auto begin = owners.first(rank), end = rank + 1 < owners.ranks() ? owners.first(rank + 1) : lanes;
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

/// Neighbouring lanes, at least two, are added as two sums; the left one has the largest power of two of them that leaves some to the
/// right.
constexpr std::int64_t left_lanes(std::int64_t count) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - 1)));
}

/// Which lanes each process has: rank r those from first[r] to before first[r + 1], the last one all the others. Ascending, from 0.
class LaneOwners {
 public:
  LaneOwners() : first_{0} {}  ///< one process
  explicit LaneOwners(std::vector<std::int64_t> first) : first_(std::move(first)) {}

  /// One sum of the tree for each of at most as many ranks as lanes, so that a rank sends one value and waits for nobody before it has run
  /// all its lanes. The largest is halved until there are enough: none has more than twice its share of the lanes.
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

  /// How many processes have lanes.
  int ranks() const { return static_cast<int>(first_.size()); }
  /// The process that has the lane, 0 or more.
  int owner(std::int64_t lane) const { return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), lane) - first_.begin()) - 1; }
  /// The first lane of a process, rank from 0 to ranks() - 1.
  std::int64_t first(int rank) const { return first_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<std::int64_t> first_;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
