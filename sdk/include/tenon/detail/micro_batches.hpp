// Distribution and summation of the micro-batches of a training step: the sums do not depend on
// which process computed them. Uses only the standard library, so that a trainer, a transport and a
// test with a thousand ranks run the same code. Applications include
// <tenon/host/micro_batches.hpp>.
//
// A micro-batch is the share of a step that one process computes. Micro-batches are added by a
// balanced tree whose shape depends only on their number: for seven, ((0+1)+(2+3)) + ((4+5)+6).
// Each process has neighbouring micro-batches that form a subtree, whose sum it computes by itself:
//
//     // ranks 0, 1 and 2 have micro-batches 0-1, 2-3 and 4-7
//     const auto owners = tenon::MicroBatchOwners::even(8, 3);
//     const auto begin = owners.first(rank);
//     const auto end = rank + 1 < owners.ranks() ? owners.first(rank + 1) : micro_batches;
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#pragma GCC visibility push(hidden)
namespace tenon {

/// `count` neighbouring micro-batches, at least two, are added as two sums; returns the number of
/// micro-batches of the left one, the largest power of two below count.
constexpr std::int64_t left_micro_batches(std::int64_t count) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count - 1)));
}

/// Which micro-batches each process has: rank r has those from first[r] up to first[r + 1], the
/// last rank all remaining ones. Ascending, from 0.
class MicroBatchOwners {
 public:
  MicroBatchOwners() : first_{0} {}  ///< one process
  explicit MicroBatchOwners(std::vector<std::int64_t> first) : first_(std::move(first)) {}

  /// Assigns one subtree each to at most as many ranks as micro-batches, so that a rank sends one
  /// value and waits for other ranks only after it has run all its micro-batches. The largest
  /// subtree is split until there are enough: no rank has more than twice its share.
  static MicroBatchOwners even(std::int64_t micro_batches, int ranks) {
    std::vector<std::int64_t> first{0}, count{micro_batches};
    while (static_cast<int>(first.size()) < ranks) {
      const auto largest = std::max_element(count.begin(), count.end()) - count.begin();
      const auto all = count[static_cast<std::size_t>(largest)], left = left_micro_batches(all);
      first.insert(first.begin() + largest + 1, first[static_cast<std::size_t>(largest)] + left);
      count.insert(count.begin() + largest + 1, all - left);
      count[static_cast<std::size_t>(largest)] = left;
    }
    return MicroBatchOwners(std::move(first));
  }

  /// The number of processes that have micro-batches.
  int ranks() const { return static_cast<int>(first_.size()); }
  /// The process that has the micro-batch, whose number is 0 or more.
  int owner(std::int64_t micro_batch) const {
    return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), micro_batch) -
                            first_.begin()) -
           1;
  }
  /// The first micro-batch of a process; rank is from 0 to ranks() - 1.
  std::int64_t first(int rank) const { return first_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<std::int64_t> first_;
};

}  // namespace tenon
#pragma GCC visibility pop
