// Where blocks of memory go that live for a while each.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

inline constexpr std::int64_t memory_alignment = 64;

/// A buffer that is needed from step `first` to step `last`, both included.
struct Block {
  std::int64_t bytes = 0;
  std::uint32_t first = 0, last = 0;
};

struct MemoryPlacement {
  std::vector<std::int64_t> offsets;  ///< one for each block, multiples of memory_alignment
  std::int64_t bytes = 0;             ///< of the arena that holds them all
  std::int64_t lower_bound = 0;       ///< the largest sum of blocks alive at one step: no placement needs less
  double ratio() const { return lower_bound == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(lower_bound); }
};

/// Blocks alive at the same step never overlap. Sizes are rounded up to memory_alignment. Takes O(n log n).
MemoryPlacement place(std::span<const Block> blocks);

}  // namespace tenon
