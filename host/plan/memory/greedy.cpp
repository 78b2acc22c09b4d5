#include "plan/memory/greedy.hpp"

#include <algorithm>

namespace tenon {

std::size_t GreedyPlacer::place(std::span<const std::uint32_t> order, std::int64_t limit,
                                std::int64_t& work) {
  placed_.clear();
  bytes_ = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& buffer = buffers_[order[i]];
    offsets_[order[i]] = 0;
    if (buffer.bytes == 0) continue;
    occupied_.clear();
    placed_.find(buffer.first, buffer.last, [&](std::uint32_t id) {
      occupied_.push_back({offsets_[id], offsets_[id] + buffers_[id].bytes});
    });
    work -= static_cast<std::int64_t>(occupied_.size()) + 1;
    const auto offset = best_gap(buffer.bytes);
    if (offset + buffer.bytes > limit || work < 0) return i;
    offsets_[order[i]] = offset;
    bytes_ = std::max(bytes_, offset + buffer.bytes);
    placed_.insert(order[i]);
  }
  return order.size();
}

std::int64_t GreedyPlacer::best_gap(std::int64_t bytes) {
  std::sort(occupied_.begin(), occupied_.end(),
            [](const Interval& left, const Interval& right) { return left.begin < right.begin; });
  std::int64_t best = -1, smallest = INT64_MAX, top = 0;
  for (const auto& [begin, end] : occupied_) {
    if (const auto gap = begin - top; gap >= bytes && gap < smallest) {
      best = top;
      smallest = gap;
    }
    top = std::max(top, end);
  }
  return best < 0 ? top : best;
}

}  // namespace tenon
