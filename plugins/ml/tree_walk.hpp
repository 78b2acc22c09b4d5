// Finds the leaves that rows reach. Eight paths advance together: each step of one waits for the
// node and the feature that it loads, and the steps of the others fill that time.
#pragma once
#include <algorithm>

#include "forest.hpp"

/// Paths from roots to leaves, at most `capacity`. Path i begins at node at(i) and follows row
/// i * stride of x: a stride of 0 is the same row for all paths.
template <class T, bool has_equality, bool has_nan>
class TreeWalk {
 public:
  static constexpr std::int64_t capacity = 512;

  explicit TreeWalk(const TreeNode<T>* nodes) : nodes_(nodes) {}

  std::int32_t& at(std::int64_t path) { return at_[path]; }

  /// Moves `count` paths to their leaves, which most reach in more than `steps` steps.
  void run(std::int64_t count, const T* x, std::int64_t stride, std::int32_t steps) {
    for (std::int64_t i = 0; i < count; ++i) active_[i] = static_cast<std::int32_t>(i);
    for (steps = std::max(steps, 2); count > 0; steps = 3) count = advance(count, x, stride, steps);
  }

 private:
  static constexpr int lanes = 8;

  // Advances the active paths and keeps those that have not reached a leaf. Their number is
  // returned.
  std::int64_t advance(std::int64_t count, const T* x, std::int64_t stride, std::int32_t steps) {
    std::int64_t remaining = 0;
    for (std::int64_t begin = 0; begin < count; begin += lanes) {
      const auto size = std::min<std::int64_t>(lanes, count - begin);
      std::int32_t at[lanes];
      const T* rows[lanes];
      for (int lane = 0; lane < lanes; ++lane) {
        const auto path = active_[begin + std::min<std::int64_t>(lane, size - 1)];
        at[lane] = at_[path], rows[lane] = x + path * stride;
      }
      for (std::int32_t step = 0; step < steps; ++step)
#pragma GCC unroll 8
        for (int lane = 0; lane < lanes; ++lane) at[lane] = next(at[lane], rows[lane]);
      for (int lane = 0; lane < size; ++lane) {
        const auto path = active_[begin + lane];
        at_[path] = at[lane];
        active_[remaining] = path;  // not after active_[begin + lane]
        remaining += nodes_[at[lane]].child != at[lane];
      }
    }
    return remaining;
  }

  // Without branches, because which way a row goes cannot be predicted.
  std::int32_t next(std::int32_t at, const T* row) const {
    using Node = TreeNode<T>;
    const Node& node = nodes_[at];
    const auto flags = node.feature;
    const T x = row[flags & (Node::features - 1)];
    unsigned holds = x <= node.split;
    if constexpr (has_equality) holds &= (flags >> 31 ^ 1u) | unsigned{x >= node.split};
    if constexpr (has_nan) holds |= unsigned{x != x} & (flags >> 30);
    return node.child + static_cast<std::int32_t>(holds);
  }

  const TreeNode<T>* nodes_;
  std::int32_t at_[capacity], active_[capacity];
};
