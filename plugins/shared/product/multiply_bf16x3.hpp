// f32 matrix products by a bf16x3 split (micro_kernel_bf16x3.hpp) on CPUs with AMX: closer to the
// exact result than FMA. Rows and panels that are out of range for the split (bf16x3.hpp) are
// multiplied as in fma.hpp, individually for each depth block.
#pragma once
#include "fma.hpp"

#if defined(TENON_WIDE_LEVELS)
#include <bit>

#include "micro_kernel_bf16x3.hpp"

namespace product::bf16x3 {

inline std::int64_t panels_of(std::int64_t columns) {
  return (columns + panel - 1) / panel;
}
inline std::int64_t depth_blocks(std::int64_t depth) {
  return (depth + max_depth - 1) / max_depth;
}

/// A packed matrix: the panels, followed by a mark for each panel and depth block that says whether
/// it is out of range.
struct Packing {
  std::int64_t depth, columns;

  std::int64_t panel_step() const { return chunks_of(depth) * chunk_size; }
  std::int64_t marks() const { return panels_of(columns) * panel_step(); }
  std::int64_t size() const {
    return (marks() + panels_of(columns) * depth_blocks(depth) + chunk - 1) / chunk * chunk;
  }
};

/// Packs `steps` rows from `first` on of the panel at `column`. Returns whether it is out of range.
inline bool pack(const gemm::Operand<float>& right, std::int64_t first, std::int64_t steps,
                 std::int64_t column, std::int64_t columns, Bits* to) {
  if (right.transposed)
    return split_turned_panel(right.column(column) + first, right.row_size, steps, columns, to);
  return split_panel(right.row(first) + column, right.row_size, steps, columns, to);
}

/// Packs the whole right side; `to` is aligned to a cache line.
inline void pack(const gemm::Operand<float>& right, const Packing& packing, Bits* to) {
  Bits* mark = to + packing.marks();
  for (std::int64_t column = 0; column < packing.columns; column += panel)
    for (std::int64_t first = 0; first < packing.depth; first += max_depth)
      *mark++ = pack(right, first, std::min(max_depth, packing.depth - first), column,
                     std::min(panel, packing.columns - column),
                     to + column / panel * packing.panel_step() + first / chunk * chunk_size);
}

/// The panels of a tile for one depth block.
struct Panels {
  const Bits* data;
  std::int64_t step;
  const Bits* marks;
  std::int64_t mark_step;

  bool out_of_range(std::int64_t column) const { return marks[column / panel * mark_step] != 0; }
};

inline Panels packed_panels(const Bits* packed, const Packing& packing, std::int64_t first,
                            std::int64_t column) {
  const auto step = packing.panel_step(), blocks = depth_blocks(packing.depth);
  return {packed + column / panel * step + first / chunk * chunk_size, step,
          packed + packing.marks() + column / panel * blocks + first / max_depth, blocks};
}

/// Packs the panels of a tile from the right side.
inline Panels own_panels(const gemm::Operand<float>& right, std::int64_t first, std::int64_t steps,
                         const Tile& tile) {
  constexpr auto max_numbers = max_depth * max_wide * terms;  // wider tiles have less depth
  Bits* const to = thread_memory<Bits, max_numbers + widest / panel>();
  Bits* const marks = to + max_numbers;
  const auto step = chunks_of(steps) * chunk_size;
  for (std::int64_t column = 0; column < tile.columns; column += panel)
    marks[column / panel] =
        pack(right, first, steps, tile.column + column, std::min(panel, tile.columns - column),
             to + column / panel * step);
  return {to, step, marks, 1};
}

/// Splits `rows` rows of a depth block to `to`. Returns a mask: bit i is set if row i is out of
/// range.
inline std::uint32_t split_rows(const gemm::Operand<float>& left, std::int64_t row,
                                std::int64_t rows, std::int64_t first, std::int64_t steps,
                                Bits* to) {
  const float* from = left.row(row) + first;
  auto from_step = left.row_size;
  if (left.transposed) {
    float* const turned = thread_memory<float, max_rows * row_step>();
    from = turned;
    from_step = row_step;
    std::int64_t k = 0;
    for (; k + side <= steps && rows == max_rows; k += side)
      for (std::int64_t i = 0; i < rows; i += side)
        avx512::transpose_square(left.column(first + k) + row + i, left.row_size,
                                 turned + i * row_step + k, row_step);
    for (; k < steps; ++k)
      for (std::int64_t i = 0; i < rows; ++i)
        turned[i * row_step + k] = left.column(first + k)[row + i];
  }
  std::uint32_t out_of_range = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    out_of_range |= std::uint32_t{split_row(from + i * from_step, steps, to + i * row_step,
                                            max_rows * row_step)}
                    << i;
  return out_of_range;
}

/// Calls body(first, count) for each run of ones.
template <class Body>
void for_each_run(std::uint32_t bits, Body&& body) {
  for (int first = 0; bits >> first != 0;) {
    first += std::countr_zero(bits >> first);
    const int count = std::countr_one(bits >> first);
    body(first, count);
    if ((first += count) == 32) return;  // a shift by 32 is undefined
  }
}

/// The operands of one depth block.
struct DepthBlock {
  const Level& level;
  const gemm::Operand<float>&left, &right;
  std::int64_t first, steps;

  /// Computes rows and columns of the result by FMA; `tile` is relative to the whole result.
  void multiply_by_fma(Target to, Start start, const Tile& tile) const {
    product::multiply_tile(level, {left.column(first), left.row_size, left.transposed},
                           {{right.row(first), right.row_size, right.transposed}, nullptr}, steps,
                           to, start, tile);
  }

  /// Multiplies the rows of a tile that split_rows() wrote to `rows`.
  void multiply_rows(const Bits* rows, std::uint32_t left_out, const Panels& panels, Target to,
                     Start start, const Tile& tile) const {
    for (std::int64_t column = 0; column < tile.columns;) {
      const bool by_fma = panels.out_of_range(column);
      auto end = column;
      while (end < tile.columns && panels.out_of_range(end) == by_fma)
        end = std::min(end + panel, tile.columns);
      const Target corner{to.data + column, to.row_size};
      const Tile some{tile.row, tile.rows, tile.column + column, end - column};
      if (by_fma) {
        multiply_by_fma(corner, start.at(0, column), some);
      } else {
        bf16x3::multiply({rows, tile.rows, left_out, panels.data + column / panel * panels.step,
                          panels.step, some.columns, chunks_of(steps), corner,
                          start.at(0, column)});
        for_each_run(left_out, [&](std::int64_t row, std::int64_t rows) {
          multiply_by_fma({corner.data + row * to.row_size, to.row_size}, start.at(row, column),
                          {tile.row + row, rows, some.column, some.columns});
        });
      }
      column = end;
    }
  }
};

/// The arithmetic of F32Arithmetic if Algorithm::bf16x3_amx is chosen.
class Bf16x3Arithmetic {
 public:
  using Packed = Bits;
  using Right = RightOf<Bits>;

  explicit Bf16x3Arithmetic(const Size& size) : size_(size) {}

  /// Tiles are as large as the cache allows, because each tile splits what it shares with others.
  Cut cut_for(const gemm::Operand<float>&, const Right& right) const {
    constexpr std::int64_t tall = 96, tallest = 1024;
    const std::int64_t each = right.packed ? 2 : 1;
    return {max_columns, size_.depth <= max_depth / 2 ? widest : max_wide, max_rows, tall, each,
            tallest};
  }
  /// Computes one tile at `to`: start + left * right; then calls finish(tile rows).
  template <class Finish = Nothing>
  void multiply_tile(const gemm::Operand<float>& left, const Right& right, Target to, Start start,
                     const Tile& tile, const Finish& finish = {}) const {
    Bits* const rows = thread_memory<Bits, terms * max_rows * row_step>();
    for (std::int64_t first = 0; first < size_.depth; first += max_depth) {
      const DepthBlock depth_block{level_, left, right.matrix, first,
                                   std::min(max_depth, size_.depth - first)};
      const auto panels = right.packed ? packed_panels(right.packed, packed(), first, tile.column)
                                       : own_panels(right.matrix, first, depth_block.steps, tile);
      const bf16::amx::InTiles in_tiles;
      for (std::int64_t i = 0; i < tile.rows; i += max_rows) {
        const Tile block{tile.row + i, std::min(max_rows, tile.rows - i), tile.column,
                         tile.columns};
        const auto left_out =
            split_rows(left, block.row, block.rows, first, depth_block.steps, rows);
        depth_block.multiply_rows(rows, left_out, panels, {to.data + i * to.row_size, to.row_size},
                                  start.at(i, 0), block);
        if (first + depth_block.steps == size_.depth) finish(block);
      }
      start = {to.data, to.row_size};
    }
  }

  std::int64_t packed_size() const { return packed().size(); }
  void pack(const gemm::Operand<float>& right, Packed* to) const {
    bf16x3::pack(right, packed(), to);
  }
  static std::string packing() {
    return tenon::join("panels of ", panel, ", each number split into three bfloat16 terms");
  }

 private:
  Packing packed() const { return {size_.depth, size_.columns}; }

  const Level& level_ = usable_level();
  Size size_;
};

}  // namespace product::bf16x3
#endif
