// f32 matrix products whose elements are first rounded to bfloat16, with f32 sums: faster on CPUs
// with AVX512-BF16 or AMX, and used if a session requests it. As in multiply.hpp, splitting and
// packing do not change the bits.
#pragma once
#include "multiply.hpp"

#if defined(TENON_WIDE_LEVELS)
#include "micro_kernel_amx.hpp"

namespace product::bf16 {

inline constexpr std::int64_t max_depth = 2 * product::max_depth;
/// Distance between rounded rows: an odd number of cache lines, because rows a power of two apart
/// would share few cache sets.
inline constexpr std::int64_t row_step = max_depth + 32;

/// The kernels of one instruction set, and their requirements.
struct Instructions {
  std::int64_t (*max_rows)(std::int64_t columns);
  void (*begin)(
      std::int64_t rows);  ///< called before blocks of `rows` rows; end() follows the last of them
  void (*multiply)(std::int64_t rows, const Block& operands);
  void (*end)();
  std::int64_t pairs;  ///< the depth, and each depth block, is padded with zeros to a multiple of
                       ///< this many pairs
  Cut cut;  ///< tiles are several panels wide, so that a row of the left side is rounded once for
            ///< all of them
};

inline const Instructions& instructions() {
  static constexpr Instructions by_avx512{
      avx512::max_rows, [](std::int64_t) {}, multiply, [] {}, 1, {max_columns, max_wide, 24}};
  static constexpr Instructions by_amx{
      [](std::int64_t) { return amx::max_rows; }, amx::begin, amx::multiply, amx::end, amx::side,
      {max_columns, max_wide, amx::max_rows}};
  static const bool has_amx =
      choose(Multiplies::bf16).algorithm == Algorithm::bf16_amx;  // cached: it is read for each row
  return has_amx ? by_amx : by_avx512;
}

/// Calls begin() when the number of rows changes, and end().
class InBlocks {
 public:
  explicit InBlocks(const Instructions& by) : by_(by) {}
  ~InBlocks() { by_.end(); }
  InBlocks(const InBlocks&) = delete;
  InBlocks& operator=(const InBlocks&) = delete;
  void of(std::int64_t rows) {
    if (rows != rows_) by_.begin(rows_ = rows);
  }

 private:
  const Instructions& by_;
  std::int64_t rows_ = 0;
};

/// Returns the number of pairs of a depth, including padding.
inline std::int64_t pairs_of(std::int64_t depth) {
  const auto unit = instructions().pairs;
  return (depth + 2 * unit - 1) / (2 * unit) * unit;
}

/// Returns the size of a packed matrix, in numbers.
inline std::int64_t packed_size(std::int64_t depth, std::int64_t columns) {
  return 2 * pairs_of(depth) * padded(columns);
}

/// Rounds rows of `operand` from `row` on: `depth` numbers from `first` on, padded to whole pairs
/// with zeros, each row at to + i * row_step.
inline void round_rows(const gemm::Operand<float>& operand, std::int64_t row, std::int64_t rows,
                       std::int64_t first, std::int64_t depth, Bits* to) {
  const auto padding = 2 * pairs_of(depth) - depth;
  for (std::int64_t i = 0; i < rows; ++i, to += row_step) {
    if (operand.transposed) {
      float* const numbers = thread_memory<float, max_depth>();
      for (std::int64_t k = 0; k < depth; ++k)
        numbers[k] = operand.data[(first + k) * operand.row_size + row + i];
      round_row(numbers, depth, to);
    } else {
      round_row(operand.row(row + i) + first, depth, to);
    }
    std::fill_n(to + depth, padding, Bits{0});
  }
}

/// Packs columns `column` to `column + columns` of `right` in pairs at `to`: `depth` rows from
/// `first` on, at most max_depth. Padding is zero.
inline void pack(const gemm::Operand<float>& right, std::int64_t first, std::int64_t depth,
                 std::int64_t column, std::int64_t columns, Bits* to) {
  const auto width = padded(columns), pairs = pairs_of(depth);
  if (pairs == 0) return;  // no elements, so there may be no memory
  if (!right.transposed) {
    pack_rows(right.row(first) + column, right.row_size, depth, columns, pairs, width, to);
    return;
  }
  const gemm::Operand<float> turned{right.data, right.row_size, false};
  Bits* const rows = thread_memory<Bits, vector * row_step>();
  for (std::int64_t j = 0; j < columns; j += vector) {
    const auto count = std::min(vector, columns - j);
    round_rows(turned, column + j, count, first, depth, rows);
    std::int64_t pair = 0;
    if (count == vector)  // a pair of bfloat16 is moved as one float
      for (; pair + vector <= pairs; pair += vector)
        avx512::transpose_square(reinterpret_cast<const float*>(rows + 2 * pair), row_step / 2,
                                 reinterpret_cast<float*>(to + 2 * (pair * width + j)), width);
    for (; pair < pairs; ++pair)
      for (std::int64_t i = 0; i < 2 * vector; ++i)
        to[2 * (pair * width + j) + i] =
            i / 2 < count ? rows[i / 2 * row_step + 2 * pair + i % 2] : Bits{0};
  }
}

/// Packs the whole right side into packed_size() numbers.
inline void pack(const gemm::Operand<float>& right, std::int64_t depth, std::int64_t columns,
                 Bits* to) {
  for (std::int64_t column = 0; column < columns; column += max_columns) {
    const auto count = std::min(max_columns, columns - column);
    for (std::int64_t first = 0; first < depth;
         first += max_depth)  // a pair never crosses the end of a depth block
      pack(right, first, std::min(max_depth, depth - first), column, count,
           to + 2 * column * pairs_of(depth) + first * padded(count));
  }
}

using Right = RightOf<Bits>;

/// The panels of a tile, `step` apart; `before` counts the rows ahead of the current depth block.
struct Panels {
  const Bits* data;
  std::int64_t step, before;

  const Bits* at(std::int64_t column, std::int64_t columns) const {
    return data + column / max_columns * step + before * padded(columns);
  }
};

/// Prefetches the packed panels that are multiplied next, which follow in memory: the next depth
/// block, or else the next tile's. Each block prefetches its share.
struct Next {
  bool prefetch, after_last;  ///< after_last: this is the last depth block
  std::int64_t block, blocks;

  void request(const Panels& panels, std::int64_t column, std::int64_t columns, std::int64_t size,
               Block& operands) const {
    if (!prefetch) return;
    constexpr std::int64_t line = 64 / sizeof(Bits);
    const auto begin = size * block / blocks / line * line;
    operands.prefetch =
        panels.at(column, operands.columns) +
        (after_last ? (columns + max_columns - 1) / max_columns * panels.step : size) + begin;
    operands.prefetch_size = size * (block + 1) / blocks - begin;
  }
};

/// Multiplies rows of a tile for one depth block; `left` has these rows from round_rows().
inline void multiply_panels(const Instructions& by, const Bits* left, std::int64_t rows,
                            std::int64_t columns, std::int64_t pairs, const Panels& panels,
                            Target to, Start start, const Next& next) {
  for (std::int64_t column = 0; column < columns; column += max_columns) {
    const auto count = std::min(max_columns, columns - column);
    Block block{left,
                row_step,
                panels.at(column, count),
                2 * padded(count),
                start.at(0, column).data,
                start.row_size,
                to.data + column,
                to.row_size,
                count,
                pairs};
    next.request(panels, column, columns, 2 * pairs * padded(count), block);
    by.multiply(rows, block);
  }
}

/// Packs the panels of a tile from the right side.
inline Panels own_panels(const gemm::Operand<float>& right, std::int64_t first, std::int64_t depth,
                         const Tile& tile) {
  Bits* const to = thread_memory<Bits, max_depth * max_wide>();
  const Panels panels{to, 2 * max_columns * pairs_of(depth), 0};
  for (std::int64_t column = 0; column < tile.columns; column += max_columns)
    pack(right, first, depth, tile.column + column, std::min(max_columns, tile.columns - column),
         to + column / max_columns * panels.step);
  return panels;
}

/// Computes one tile at `to`: start + left * right; then calls finish(tile rows).
template <class Finish>
void multiply_tile(const gemm::Operand<float>& left, const Right& right, std::int64_t depth,
                   Target to, Start start, const Tile& tile, const Finish& finish) {
  const auto& by = instructions();
  const auto rows_at_once = by.max_rows(std::min(tile.columns, max_columns)),
             blocks = (tile.rows + rows_at_once - 1) / rows_at_once;
  const auto chunks = std::max<std::int64_t>((depth + max_depth - 1) / max_depth, 1);
  Bits* const rounded_rows = thread_memory<Bits, amx::max_rows * row_step>();
  InBlocks in_blocks(by);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const auto first = chunk * max_depth, steps = std::min(max_depth, depth - first);
    const auto panels = right.packed ? Panels{right.packed + 2 * tile.column * pairs_of(depth),
                                              2 * max_columns * pairs_of(depth), first}
                                     : own_panels(right.matrix, first, steps, tile);
    if (chunk > 0) start = {to.data, to.row_size};
    for (std::int64_t i = 0; i < blocks; ++i) {
      const auto begin = tile.rows * i / blocks, end = tile.rows * (i + 1) / blocks;
      in_blocks.of(end - begin);
      round_rows(left, tile.row + begin, end - begin, first, steps, rounded_rows);
      multiply_panels(by, rounded_rows, end - begin, tile.columns, pairs_of(steps), panels,
                      {to.data + begin * to.row_size, to.row_size}, start.at(begin, 0),
                      {right.packed != nullptr, chunk + 1 == chunks, i, blocks});
      if (chunk + 1 == chunks)
        finish(Tile{tile.row + begin, end - begin, tile.column, tile.columns});
    }
  }
}

/// The arithmetic of kernels if the session requests bfloat16 and the CPU supports it; see
/// FmaArithmetic.
class Bf16Arithmetic {
 public:
  static constexpr auto multiplies = Multiplies::bf16;
  using Packed = Bits;
  using Right = bf16::Right;

  explicit Bf16Arithmetic(const Size& size) : size_(size) {}

  static bool supports(const tenon::Infer& types) {
    return types.precision() == tenon::bf16 && types.input(0).dtype == tenon::f32 &&
           multiplies_bf16();
  }

  /// Rows are rounded once for each tile. A depth block of the widest tile's panels is at most 1
  /// MiB and stays in the second-level cache.
  static Cut cut_for(const gemm::Operand<float>&, const Right& right) {
    auto cut = instructions().cut;
    if (right.packed) cut.wide = widest;
    cut.each = right.packed ? 2 : 1;
    return cut;
  }
  template <class Finish = Nothing>
  void multiply_tile(const gemm::Operand<float>& left, const Right& right, Target to, Start start,
                     const Tile& tile, const Finish& finish = {}) const {
    bf16::multiply_tile(left, right, size_.depth, to, start, tile, finish);
  }

  std::int64_t packed_size() const { return bf16::packed_size(size_.depth, size_.columns); }
  void pack(const gemm::Operand<float>& right, Packed* to) const {
    bf16::pack(right, size_.depth, size_.columns, to);
  }
  static std::string packing() {
    return tenon::join("panels of ", max_columns,
                       " pairs of bfloat16; pairs per column padded to a multiple of ",
                       instructions().pairs);
  }

 private:
  Size size_;
};

}  // namespace product::bf16
#endif
