#include "plan/orders.hpp"

#include <algorithm>
#include <numeric>

#include "plan/alive_blocks.hpp"

namespace tenon {
namespace {

template <class Before>
std::vector<std::uint32_t> sorted(std::size_t count, Before before) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

/// Bytes alive at each block's first step; no other step has more.
std::vector<std::int64_t> breadths(std::span<const Block> blocks) {
  const auto starts = order_by(&Block::first, blocks), ends = order_by(&Block::last, blocks);
  std::vector<std::int64_t> breadths(blocks.size());
  std::int64_t alive = 0;
  std::size_t started = 0, ended = 0;
  for (const auto id : starts) {
    for (; started < starts.size() && blocks[starts[started]].first == blocks[id].first; ++started) alive += blocks[starts[started]].bytes;
    for (; blocks[ends[ended]].last < blocks[id].first; ++ended) alive -= blocks[ends[ended]].bytes;
    breadths[id] = alive;
  }
  return breadths;
}

}  // namespace

std::vector<std::uint32_t> order_by(std::uint32_t Block::*step, std::span<const Block> blocks) {
  return sorted(blocks.size(), [&](auto left, auto right) { return blocks[left].*step < blocks[right].*step; });
}

// Of equal ones those first that live longest: short ones fit into what is left.
std::vector<std::uint32_t> order_by_size(std::span<const Block> blocks) {
  return sorted(blocks.size(), [&](auto left, auto right) {
    const auto &one = blocks[left], &other = blocks[right];
    return one.bytes != other.bytes ? one.bytes > other.bytes : one.last - one.first > other.last - other.first;
  });
}

std::vector<std::uint32_t> order_by_breadth(std::span<const Block> blocks) {
  const auto by_size = order_by_size(blocks);
  std::vector<std::uint32_t> rank(blocks.size());
  for (std::uint32_t i = 0; i < by_size.size(); ++i) rank[by_size[i]] = i;
  const auto breadth = breadths(blocks);
  AliveBlocks left(blocks);
  for (std::uint32_t id = 0; id < blocks.size(); ++id) left.insert(id);
  std::vector<std::uint32_t> order;
  order.reserve(blocks.size());
  for (const auto id : sorted(blocks.size(), [&](auto one, auto other) { return breadth[one] > breadth[other]; })) {
    const auto begin = static_cast<std::ptrdiff_t>(order.size());
    left.find(blocks[id].first, blocks[id].first, [&](std::uint32_t found) { order.push_back(found); });
    std::sort(order.begin() + begin, order.end(), [&](auto one, auto other) { return rank[one] < rank[other]; });
    std::for_each(order.begin() + begin, order.end(), [&](auto found) { left.erase(found); });
  }
  return order;
}

}  // namespace tenon
