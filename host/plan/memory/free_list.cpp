#include "plan/memory/free_list.hpp"

#include <iterator>

namespace tenon {

std::int64_t FreeList::allocate(std::int64_t bytes) {
  const auto fit = by_size_.lower_bound({bytes, 0});
  if (fit == by_size_.end()) return grow(bytes);
  const auto [size, offset] = *fit;
  erase(offset, size);
  if (size > bytes) insert(offset + bytes, size - bytes);
  return offset;
}

void FreeList::release(std::int64_t offset, std::int64_t bytes) {
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

// Called if no free range is large enough: extends the last range if it touches the end.
std::int64_t FreeList::grow(std::int64_t bytes) {
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

void FreeList::insert(std::int64_t offset, std::int64_t bytes) {
  by_offset_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

void FreeList::erase(std::int64_t offset, std::int64_t bytes) {
  by_offset_.erase(offset);
  by_size_.erase({bytes, offset});
}

}  // namespace tenon
