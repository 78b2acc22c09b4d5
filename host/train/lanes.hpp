// How what the lanes of a step give is added, whichever process computed it. Nothing but the standard library is in here, so that a
// transport and a test of a thousand ranks run the same lines.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tenon {

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

  int ranks() const { return static_cast<int>(first_.size()); }
  int owner(std::int64_t lane) const { return static_cast<int>(std::upper_bound(first_.begin(), first_.end(), lane) - first_.begin()) - 1; }
  /// Whether the rank has any of [begin, end).
  bool has(int rank, std::int64_t begin, std::int64_t end) const {
    const auto at = static_cast<std::size_t>(rank);
    const auto own_end = at + 1 == first_.size() ? end : first_[at + 1];
    return std::max(first_[at], begin) < std::min(own_end, end);
  }

 private:
  std::vector<std::int64_t> first_;
};

/// Between the only rank and nobody.
template <class Value>
struct OneProcess {
  void send(int, const Value&) {}
  Value receive(int) { return {}; }
};

/// Adds the values of lanes by the tree. Exchange: `void send(int rank, const Value&)` and `Value receive(int rank)`; all ranks make their
/// calls in the order of one traversal, so that send() may wait for its receive().
template <class Value, class Exchange = OneProcess<Value>>
class LaneTree {
 public:
  LaneTree() = default;
  LaneTree(LaneOwners owners, int rank, Exchange exchange) : owners_(std::move(owners)), rank_(rank), exchange_(std::move(exchange)) {}

  /// The sum of lanes [0, count), count at least 1, on every rank and with the same bits whoever has which lanes. `make(lane, place)` gives
  /// a lane's value; the lanes of a rank come in ascending order. `add(left, right)` adds right, which it may use up, to left. A place is
  /// one of ceil(log2(count)) + 1 that hold a value each: make() may put a new one where an earlier one was.
  template <class Make, class Add>
  Value sum(std::int64_t count, Make&& make, Add&& add) {
    auto total = part(0, count, 0, make, add);
    share(total, 0, owners_.ranks());
    return std::move(*total);
  }

 private:
  /// Of lanes [begin, begin + count); with a value on the owner of the first of them only.
  template <class Make, class Add>
  std::optional<Value> part(std::int64_t begin, std::int64_t count, std::size_t place, Make& make, Add& add) {
    if (!owners_.has(rank_, begin, begin + count)) return {};
    if (count == 1) return make(begin, place);
    const auto split = begin + left_lanes(count);
    auto left = part(begin, split - begin, place, make, add);
    auto right = part(split, begin + count - split, place + 1, make, add);
    const int to = owners_.owner(begin), from = owners_.owner(split);
    if (from == rank_ && to != rank_) exchange_.send(to, *right);
    if (to == rank_) add(*left, from == rank_ ? std::move(*right) : exchange_.receive(from));
    return left;
  }

  /// From the owner of lane 0 to ranks [begin, end), as it counts them from itself.
  void share(std::optional<Value>& total, int begin, int end) {
    if (end - begin < 2) return;
    const int root = owners_.owner(0), ranks = owners_.ranks(), self = (rank_ - root + ranks) % ranks;
    const int split = begin + static_cast<int>(left_lanes(end - begin));
    if (self == begin) exchange_.send((root + split) % ranks, *total);
    if (self == split) total = exchange_.receive((root + begin) % ranks);
    self < split ? share(total, begin, split) : share(total, split, end);
  }

  LaneOwners owners_;
  int rank_ = 0;
  Exchange exchange_;
};

}  // namespace tenon
