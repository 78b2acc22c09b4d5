// Kernel cache of one node's object, which serves several plans with different shapes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

template <class Shape, class Kernel>
class KernelCache {
 public:
  /// Returns the cached kernel for a shape, or caches the result of make(). Evicts the least
  /// recently used kernels: the cache holds the latest kernel, and at most 7 others of at most
  /// max_bytes in total.
  template <class Make>
  Kernel& of(const Shape& shape, Make&& make) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.shape == shape; });
    if (found != entries_.end()) {
      std::rotate(entries_.begin(), found, found + 1);
    } else {
      auto made = std::make_unique<Kernel>(make());
      while (entries_.size() == max_entries || bytes() > max_bytes) entries_.pop_back();
      entries_.insert(entries_.begin(), Entry{shape, std::move(made)});
    }
    return *entries_.front().kernel;
  }

 private:
  static constexpr std::size_t max_entries = 8, max_bytes = std::size_t{1} << 20;

  // Kernels grow while their passes are created.
  std::size_t bytes() const {
    return std::accumulate(
        entries_.begin(), entries_.end(), std::size_t{0},
        [](std::size_t sum, const Entry& entry) { return sum + entry.kernel->bytes(); });
  }

  struct Entry {
    Shape shape;
    std::unique_ptr<Kernel> kernel;
  };
  std::vector<Entry> entries_;  // most recently used first
};
