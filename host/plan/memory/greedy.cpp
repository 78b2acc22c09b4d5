#include "plan/memory/greedy.hpp"

#include <algorithm>
#include <numeric>

#include "plan/memory/alive_buffers.hpp"

namespace tenon {
namespace {

template <class Before>
std::vector<std::uint32_t> sorted(std::size_t count, Before before) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

/// Returns the bytes alive at each buffer's first step; maxima occur only there.
std::vector<std::int64_t> breadths(std::span<const Buffer> buffers) {
  const auto starts = order_by(&Buffer::first, buffers), ends = order_by(&Buffer::last, buffers);
  std::vector<std::int64_t> breadths(buffers.size());
  std::int64_t alive = 0;
  std::size_t started = 0, ended = 0;
  for (const auto id : starts) {
    for (; started < starts.size() && buffers[starts[started]].first == buffers[id].first;
         ++started)
      alive += buffers[starts[started]].bytes;
    for (; buffers[ends[ended]].last < buffers[id].first; ++ended)
      alive -= buffers[ends[ended]].bytes;
    breadths[id] = alive;
  }
  return breadths;
}

}  // namespace

std::vector<std::uint32_t> order_by(std::uint32_t Buffer::*step, std::span<const Buffer> buffers) {
  return sorted(buffers.size(),
                [&](auto left, auto right) { return buffers[left].*step < buffers[right].*step; });
}

// Orders buffers of equal size by lifetime, longest first: short-lived ones fit into what is left.
std::vector<std::uint32_t> order_by_size(std::span<const Buffer> buffers) {
  return sorted(buffers.size(), [&](auto left, auto right) {
    const auto &one = buffers[left], &other = buffers[right];
    return one.bytes != other.bytes ? one.bytes > other.bytes
                                    : one.last - one.first > other.last - other.first;
  });
}

std::vector<std::uint32_t> order_by_breadth(std::span<const Buffer> buffers) {
  const auto by_size = order_by_size(buffers);
  std::vector<std::uint32_t> rank(buffers.size());
  for (std::uint32_t i = 0; i < by_size.size(); ++i) rank[by_size[i]] = i;
  const auto breadth = breadths(buffers);
  AliveBuffers left(buffers);
  for (std::uint32_t id = 0; id < buffers.size(); ++id) left.insert(id);
  std::vector<std::uint32_t> order;
  order.reserve(buffers.size());
  for (const auto id : sorted(
           buffers.size(), [&](auto one, auto other) { return breadth[one] > breadth[other]; })) {
    const auto begin = static_cast<std::ptrdiff_t>(order.size());
    left.find(buffers[id].first, buffers[id].first,
              [&](std::uint32_t found) { order.push_back(found); });
    std::sort(order.begin() + begin, order.end(),
              [&](auto one, auto other) { return rank[one] < rank[other]; });
    std::for_each(order.begin() + begin, order.end(), [&](auto found) { left.erase(found); });
  }
  return order;
}

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
