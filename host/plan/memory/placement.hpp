// Where buffers of memory go that live for a while each.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tenon {

inline constexpr std::int64_t buffer_alignment = 64;

/// A buffer that is needed from step `first` to step `last`, both included.
struct Buffer {
  std::int64_t bytes = 0;
  std::uint32_t first = 0, last = 0;
};

/// How offsets were found: one buffer after the other in this order.
enum class Strategy : std::uint8_t {
  execution_order,  ///< as they come to life, each into the smallest stretch that is free just then
  by_size,          ///< the largest first, each into the smallest gap that is free all its life
  by_breadth,       ///< those alive at the step with the most alive bytes first, and among these the largest; else as by_size
  reordered,        ///< as the better one of these two, but what stuck out of the best arena so far came earlier
};
std::string_view name_of(Strategy strategy);

struct MemoryPlacement {
  std::vector<std::int64_t> offsets;  ///< one for each buffer, multiples of buffer_alignment
  std::int64_t bytes = 0;             ///< of the arena that holds them all
  std::int64_t lower_bound = 0;       ///< the largest sum of buffers alive at one step: no placement needs less
  Strategy strategy = Strategy::execution_order;
  double ratio() const { return lower_bound == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(lower_bound); }
};

/// The smallest arena that the strategies find; buffers alive at the same step never overlap in it. Sizes are rounded up to
/// buffer_alignment. The same buffers give the same offsets. Execution order takes O(n log n); the others stop where they have looked at so
/// many pairs of buffers that all together they would take longer than half a second.
MemoryPlacement place(std::span<const Buffer> buffers);

/// One strategy alone, whatever it takes; not `reordered`. For tests and benchmarks.
MemoryPlacement place_by(Strategy strategy, std::span<const Buffer> buffers);

}  // namespace tenon
