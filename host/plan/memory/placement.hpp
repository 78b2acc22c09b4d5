// Places buffers with lifetimes in an arena.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tenon {

inline constexpr std::int64_t buffer_alignment = 64;

/// A buffer that is alive from step `first` to step `last`, inclusive.
struct Buffer {
  std::int64_t bytes = 0;
  std::uint32_t first = 0, last = 0;
};

/// How offsets were found; names the order in which buffers were placed.
enum class Strategy : std::uint8_t {
  execution_order,  ///< by first step, each into the smallest range that is free at that step
  by_size,          ///< largest first, each into the smallest gap that is free during its lifetime
  by_breadth,       ///< those alive at the step with the most bytes alive first, larger ones before
                    ///< smaller
  reordered,  ///< the better of the two, with buffers that did not fit the best arena moved forward
};
std::string_view name_of(Strategy strategy);

struct MemoryPlacement {
  std::vector<std::int64_t> offsets;  ///< one for each buffer, multiples of buffer_alignment
  std::int64_t bytes = 0;             ///< size of the arena
  std::int64_t lower_bound =
      0;  ///< maximum over the steps of the bytes alive: no placement needs less
  Strategy strategy = Strategy::execution_order;
  double ratio() const {
    return lower_bound == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(lower_bound);
  }
};

/// Returns the smallest arena that the strategies find. Buffers alive at the same step never
/// overlap. Sizes are rounded up to buffer_alignment. Deterministic. Execution order takes O(n log
/// n); the other strategies stop at a number of buffer pairs that keeps their total time below
/// about half a second.
MemoryPlacement place(std::span<const Buffer> buffers);

/// Uses a single strategy, other than `reordered`, without a limit. For tests and benchmarks.
MemoryPlacement place_by(Strategy strategy, std::span<const Buffer> buffers);

}  // namespace tenon
