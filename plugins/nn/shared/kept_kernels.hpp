// The kernels that one node's object keeps: it serves several plans, each with shapes of its own.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

template <class Shape, class Kernel>
class KeptKernels {
 public:
  /// The kernel for a shape; make() gives it where it is not kept yet. The one that was not used for the longest time makes room.
  template <class Make>
  Kernel& of(const Shape& shape, Make&& make) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Entry& entry) { return entry.shape == shape; });
    if (found != kept_.end()) {
      std::rotate(kept_.begin(), found, found + 1);
    } else {
      auto made = std::make_unique<Kernel>(make());
      if (kept_.size() == most) kept_.pop_back();
      kept_.insert(kept_.begin(), Entry{shape, std::move(made)});
    }
    return *kept_.front().kernel;
  }

 private:
  static constexpr std::size_t most = 8;
  struct Entry {
    Shape shape;
    std::unique_ptr<Kernel> kernel;
  };
  std::vector<Entry> kept_;  // the last used one first
};
