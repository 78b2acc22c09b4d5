// f32 matrix products by FMA: each element of the result has one accumulator (micro_kernel.hpp).
#pragma once
#include <cstring>

#include "tiles.hpp"

namespace product {

/// Whether blocks read the right side in place. Many rows are worth packing if they are pages apart
/// and so share few cache sets.
inline bool readable_in_place(const gemm::Operand<float>& right, const Tile& tile) {
  constexpr std::int64_t page = 1024;
  return !right.transposed && tile.columns % vector == 0 &&
         (tile.rows <= 2 * vector || right.row_size % page != 0);
}

/// The rows of a tile, split into blocks.
struct Blocks {
  std::int64_t rows, max_size, count = (rows + max_size - 1) / max_size;

  std::int64_t begin(std::int64_t i) const { return rows * i / count; }
};

/// The left side of a tile as its blocks read it.
struct Left {
  const float* data;
  std::int64_t row, depth, block;  ///< strides in elements; `block` is the distance between packed
                                   ///< blocks, or 0 if rows are contiguous

  const float* at(const Blocks& blocks, std::int64_t i) const {
    return data + (block > 0 ? i * block : blocks.begin(i) * row);
  }
};

/// Whether rows or steps of the depth share few cache sets, because rows are columns in memory or
/// are pages apart.
inline bool lies_badly(const gemm::Operand<float>& left) {
  constexpr std::int64_t page = 1024;
  return left.transposed || left.row_size % page == 0;
}

/// Whether to pack a tile's left side: it pays if many columns read it, and the more the further
/// its lines are apart.
inline bool worth_packing(const Level& level, const gemm::Operand<float>& left, const Tile& tile) {
  constexpr std::int64_t enough = 64 * 256;
  return lies_badly(left) && tile.columns > level.cut.panel &&
         tile.rows >= level.max_rows(level.cut.panel) && left.row_size >= enough / tile.columns;
}

/// Returns the left side of a tile for columns `first` to `first + depth`. Transposed blocks are
/// packed step by step, others row by row.
inline Left left_side(const Level& level, const gemm::Operand<float>& left, const Tile& tile,
                      const Blocks& blocks, std::int64_t first, std::int64_t depth) {
  if (depth == 0) return {};  // no elements, so there may be no memory
  const auto row = left.transposed ? 1 : left.row_size, step = left.transposed ? left.row_size : 1;
  const float* const from = left.row(tile.row) + first * step;
  if (!worth_packing(level, left, tile)) return {from, row, step, 0};
  constexpr std::int64_t width = 8, lines = 8, line = 16;
  constexpr auto size = max_tall / 4 * width * (max_depth + 2 * line);
  float* const to = thread_memory<float, size>();
  if (!left.transposed) {
    const auto packed_row = depth + line;
    for (std::int64_t i = 0; i < tile.rows; ++i)
      std::copy_n(from + i * row, depth, to + i * packed_row);
    return {to, packed_row, 1, 0};
  }
  const auto block = depth * width + line;
  for (std::int64_t k = 0; k < depth; k += lines) {  // all blocks read these lines in sequence
    const auto steps = std::min(lines, depth - k);
    for (std::int64_t i = 0; i < blocks.count; ++i) {
      const auto begin = blocks.begin(i);
      const float* numbers = from + k * step + begin;
      float* target = to + i * block + k * width;
      if (begin + width <=
          tile.rows)  // also copies numbers of the next block: a constant size is faster
        for (std::int64_t each = 0; each < steps; ++each, numbers += step, target += width)
          std::memcpy(target, numbers, width * sizeof(float));
      else
        for (std::int64_t each = 0; each < steps; ++each, numbers += step, target += width)
          std::copy_n(numbers, blocks.begin(i + 1) - begin, target);
    }
  }
  return {to, 1, width, block};
}

/// The right side of a tile as its blocks read it.
struct Panels {
  const Level& level;
  const Right& right;
  std::int64_t depth;  ///< depth of the whole product
  bool in_place;

  /// Makes `block` read some columns of rows `first` to `first + rows` of the right side. The data
  /// may be in memory of this thread that the next call overwrites.
  void read_by(Block& block, std::int64_t first, std::int64_t rows, std::int64_t column,
               std::int64_t columns) const {
    block.columns = columns;
    block.right_row = in_place ? right.matrix.row_size : padded(columns);
    if (right.packed) {
      block.right = right.packed + column * depth + first * padded(columns);
    } else if (in_place) {
      block.right = right.matrix.row(first) + column;
    } else {
      float* const panel = thread_memory<float, max_depth * max_columns>();
      pack(level, right.matrix, first, rows, column, columns, panel);
      block.right = panel;
    }
  }
};

/// Prefetches chunk i of `count` chunks of the numbers into the second-level cache. Inlined because
/// GCC drops calls without other effects.
template <class T>
[[gnu::always_inline]] inline void prefetch_chunk(const T* numbers, std::int64_t size,
                                                  std::int64_t i, std::int64_t count) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (auto k = size * i / count / line * line; k < size * (i + 1) / count; k += line)
    __builtin_prefetch(numbers + k, 0, 2);
}

/// Computes one tile at `to`: start + left * right, where left has `depth` columns; then calls
/// finish(tile rows).
template <class Finish = Nothing>
void multiply_tile(const Level& level, const gemm::Operand<float>& left, const Right& right,
                   std::int64_t depth, Target to, Start start, const Tile& tile,
                   const Finish& finish = {}) {
  const auto chunks = std::max<std::int64_t>((depth + level.depth - 1) / level.depth, 1),
             panel = level.cut.panel;
  const Blocks blocks{tile.rows, level.max_rows(std::min(tile.columns, panel))};
  const Panels panels{level, right, depth, !right.packed && readable_in_place(right.matrix, tile)};
  Block block{};
  block.result_row = to.row_size;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const auto first = depth * chunk / chunks;
    const bool last = chunk + 1 == chunks;
    block.depth = depth * (chunk + 1) / chunks - first;
    const auto rows = left_side(level, left, tile, blocks, first, block.depth);
    block.left_row = rows.row;
    block.left_depth = rows.depth;
    if (chunk > 0) start = {to.data, to.row_size};
    block.start_row = start.row_size;
    for (std::int64_t column = 0; column < tile.columns; column += panel) {
      panels.read_by(block, first, block.depth, tile.column + column,
                     std::min(panel, tile.columns - column));
      for (std::int64_t i = 0; i < blocks.count; ++i) {
        const auto begin = blocks.begin(i), end = blocks.begin(i + 1);
        // Prefetches what is multiplied next; it is mostly in a cache shared by many cores.
        if (right.packed)
          prefetch_chunk(block.right + block.depth * block.right_row, block.depth * block.right_row,
                         i, blocks.count);
        if (rows.depth == 1 && i + 1 < blocks.count)
          for (auto row = end; row < blocks.begin(i + 2); ++row)
            prefetch_chunk(rows.data + row * rows.row, block.depth, 0, 1);
        block.left = rows.at(blocks, i);
        block.start = start.at(begin, column).data;
        block.result = to.data + begin * to.row_size + column;
        level.multiply(end - begin, block);
        if (last && tile.columns <= panel)
          finish(Tile{tile.row + begin, end - begin, tile.column, tile.columns});
      }
      const auto end = column + block.columns, begin = (end - 1) / max_columns * max_columns;
      if (last && tile.columns > panel && (end % max_columns == 0 || end == tile.columns))
        finish(Tile{tile.row, tile.rows, tile.column + begin, end - begin});
    }
  }
}

/// Returns how to split a result. A right side that is not packed is packed again by each band of
/// tiles, so there should be few bands; a packed one is shared by few columns of tiles, each of
/// which reads the left side again.
inline Cut cut_for(const Level& level, const gemm::Operand<float>& left, const Right& right) {
  Cut cut = level.cut;
  if (!right.packed && !lies_badly(left)) cut.tall *= 2;
  if (left.transposed && left.row_size >= max_wide)
    cut.wide = max_wide;  // packed once for several panels
  return cut;
}

/// A kernel selects its arithmetic with a class like this, which is constructed for products of one
/// size: FmaArithmetic, F32Arithmetic, bf16x3::Bf16x3Arithmetic or bf16::Bf16Arithmetic.
class FmaArithmetic {
 public:
  static constexpr auto multiplies = Multiplies::fma;
  using Packed = float;
  using Right = product::Right;

  explicit FmaArithmetic(const Size& size) : size_(size) {}

  Cut cut_for(const gemm::Operand<float>& left, const Right& right) const {
    return product::cut_for(level_, left, right);
  }
  template <class Finish = Nothing>
  void multiply_tile(const gemm::Operand<float>& left, const Right& right, Target to, Start start,
                     const Tile& tile, const Finish& finish = {}) const {
    product::multiply_tile(level_, left, right, size_.depth, to, start, tile, finish);
  }

  std::int64_t packed_size() const { return product::packed_size(size_.depth, size_.columns); }
  void pack(const gemm::Operand<float>& right, Packed* to) const {
    product::pack(right, size_.depth, size_.columns, to);
  }
  std::string packing() const { return product::packing(); }

 private:
  const Level& level_ = usable_level();
  Size size_;
};

}  // namespace product
