// The free ranges of an arena that grows at its end.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace tenon {

/// Best fit; adjacent free ranges are merged.
class FreeList {
 public:
  /// Allocates from the smallest range that is large enough, the lowest of equal ones; grows the
  /// arena if there is none.
  std::int64_t allocate(std::int64_t bytes);
  void release(std::int64_t offset, std::int64_t bytes);
  std::int64_t end() const { return end_; }

 private:
  std::int64_t grow(std::int64_t bytes);
  void insert(std::int64_t offset, std::int64_t bytes);
  void erase(std::int64_t offset, std::int64_t bytes);

  std::map<std::int64_t, std::int64_t> by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t end_ = 0;
};

}  // namespace tenon
