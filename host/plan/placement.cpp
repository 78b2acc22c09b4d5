#include "plan/placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tenon {
namespace {

std::int64_t rounded(std::int64_t bytes) {
  return (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

// Free stretches of an arena that grows at its end, found by size, joined with their neighbours.
class FreeList {
 public:
  std::int64_t take(std::int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *fit;
    erase(offset, size);
    if (size > bytes) insert(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(std::int64_t offset, std::int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && offset + bytes == next->first) {
      bytes += next->second;
      erase(next->first, next->second);
      next = by_offset_.lower_bound(offset);
    }
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        erase(before, size);
        offset = before;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }

  std::int64_t end() const { return end_; }

 private:
  // No stretch is large enough: the last one, where it touches the end, is made longer.
  std::int64_t grow(std::int64_t bytes) {
    std::int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        erase(last, size);
        offset = last;
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void insert(std::int64_t offset, std::int64_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void erase(std::int64_t offset, std::int64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<std::int64_t, std::int64_t> by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t end_ = 0;
};

std::vector<std::uint32_t> sorted_by(std::span<const Block> blocks, std::uint32_t Block::*step) {
  std::vector<std::uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](auto left, auto right) { return blocks[left].*step < blocks[right].*step; });
  return order;
}

}  // namespace

MemoryPlacement place(std::span<const Block> blocks) {
  MemoryPlacement placement;
  placement.offsets.resize(blocks.size());
  const auto starts = sorted_by(blocks, &Block::first), ends = sorted_by(blocks, &Block::last);
  FreeList free;
  std::int64_t alive = 0;
  std::size_t ended = 0;
  for (const auto id : starts) {
    for (; blocks[ends[ended]].last < blocks[id].first; ++ended) {
      const auto bytes = rounded(blocks[ends[ended]].bytes);
      alive -= bytes;
      if (bytes > 0) free.give_back(placement.offsets[ends[ended]], bytes);
    }
    const auto bytes = rounded(blocks[id].bytes);
    alive += bytes;
    placement.lower_bound = std::max(placement.lower_bound, alive);
    if (bytes > 0) placement.offsets[id] = free.take(bytes);
  }
  placement.bytes = free.end();
  return placement;
}

}  // namespace tenon
