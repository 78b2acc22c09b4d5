// Transposing copies on a CUDA device, with square tiles in shared memory, so that adjacent threads
// read and write adjacent elements.
#pragma once
#include <cstddef>
#include <tenon/gpu/launch.hpp>

#include "shared/box_walk.hpp"

struct Transposition {
  static constexpr int side = 32;            ///< rows and columns of a tile
  static constexpr std::int64_t worth = 16;  ///< shorter axes leave most of a tile empty
  static constexpr int rows_at_once = tenon::gpu::block_threads / side;

  BoxWalk tiles;
  BoxAxis row, line;  ///< row is contiguous in the source, line in the target

  /// `outer`: a walk over all other axes.
  Transposition(const BoxWalk& outer, const BoxAxis& along_row, const BoxAxis& along_line)
      : tiles(outer), row(along_row), line(along_line) {
    for (const auto& axis : {line, row})
      tiles.push({(axis.size + side - 1) / side, axis.from * side, axis.to * side});
  }
};

template <int bytes>
struct MoveTile {
  static constexpr auto side = Transposition::side;
  Transposition moved;
  const std::byte* from;
  std::byte* to;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t i) const {
    // The additional column distributes the elements of a column over different memory banks.
#if defined(__CUDACC__)
    __shared__ Unit<bytes> tile[side][side + 1];
#else
    static thread_local Unit<bytes> tile[side][side + 1];  // a block runs on one CPU thread
#endif
    const auto offsets = moved.tiles.at<side>(i);
    const auto [first_in_row, first_in_line] = offsets.tile;
    const int near = block.thread() % side, far = block.thread() / side;
    const std::byte* const source = from + offsets.from;
    for (int line = far; line < side; line += Transposition::rows_at_once)
      if (first_in_row + near < moved.row.size && first_in_line + line < moved.line.size)
        tile[line][near] =
            *reinterpret_cast<const Unit<bytes>*>(source + near * bytes + line * moved.line.from);
    block.sync();
    std::byte* const target = to + offsets.to;
    for (int row = far; row < side; row += Transposition::rows_at_once)
      if (first_in_line + near < moved.line.size && first_in_row + row < moved.row.size)
        *reinterpret_cast<Unit<bytes>*>(target + near * bytes + row * moved.row.to) =
            tile[near][row];
  }
};

template <int bytes>
void transpose(const tenon::Call& call, const Transposition& moved, const std::byte* from,
               std::byte* to) {
  tenon::gpu::for_each_block(call, moved.tiles.count(), MoveTile<bytes>{moved, from, to});
}
