// Products of 8-bit integers with exact int32 sums, on the host's threads.
#pragma once
#include <vector>

#include "panels_int8.hpp"
#include "tiles.hpp"

namespace product::int8 {

/// Initial sums of each column, and what remains to be subtracted, so that
/// sum (a - za)(b - zb) = start + sum ab - zb * (sum a).
class ZeroPoints {
 public:
  /// `sums`: those of the packed right side's columns. `right`: the zero point of each column; a
  /// single one applies to all; empty: 0.
  ZeroPoints(const Format& format, const Size& size, const Sum* sums, tenon::DType left_dtype,
             int left, tenon::DType right_dtype, const std::vector<int>& right)
      : start_(static_cast<std::size_t>(padded(size.columns))), right_(start_.size()) {
    const auto zero = static_cast<Word>(left + format.left_shift(left_dtype));
    const auto depth = static_cast<Word>(size.depth);
    for (std::size_t j = 0; j < static_cast<std::size_t>(size.columns); ++j) {
      const auto of_column = static_cast<Word>(
          (right.empty() ? 0 : right[right.size() == 1 ? 0 : j]) + format.right_shift(right_dtype));
      right_[j] = static_cast<Sum>(of_column);
      any_right_ = any_right_ || of_column != 0;
      start_[j] = static_cast<Sum>(zero * (depth * of_column - static_cast<Word>(sums[j])));
    }
  }

  bool needs_row_sums() const { return any_right_; }
  const Sum* start(std::int64_t column) const { return start_.data() + column; }

  /// Subtracts the rest from rows of whole vectors. `row_sums`: of the left side's elements.
  void correct(const Word* row_sums, std::int64_t rows, std::int64_t column, std::int64_t columns,
               Sum* sums) const {
    const Sum* const zero = right_.data() + column;
    const auto width = padded(columns);
    tenon::wide([=] {
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < width; ++j)
          sums[i * max_columns + j] =
              static_cast<Sum>(static_cast<Word>(sums[i * max_columns + j]) -
                               static_cast<Word>(zero[j]) * row_sums[i]);
    });
  }

 private:
  std::vector<Sum> start_, right_;
  bool any_right_ = false;
};

/// Rows of the left side that are packed at once: they stay in the second-level cache while all
/// panels of a tile are multiplied by them.
struct RowGroup {
  static constexpr std::int64_t max_size = 96;
  std::int64_t step;  ///< distance of rows in words, an odd number of cache lines
  std::int64_t size;

  explicit RowGroup(std::int64_t words) {
    constexpr std::int64_t line = 16, cached = 1 << 15;
    step = ((words + line - 1) / line | 1) * line;
    size = std::clamp(cached / step / max_rows * max_rows, max_rows, max_size);
  }
};

/// Memory of this thread for `words` words.
inline Word* row_memory(std::int64_t words) {
  thread_local std::vector<Word> memory;
  if (memory.size() < static_cast<std::size_t>(words) + 16)
    memory.resize(static_cast<std::size_t>(words) + 16);
  return memory.data();
}

/// Computes one tile. fill(row, rows, step, words, sums) packs rows of the left side, `step` words
/// apart, and writes the sums of their elements unless `sums` is null. finish(tile, sums) gets
/// complete sums, in rows that are max_columns apart.
template <class Fill, class Finish>
void multiply_tile(const Format& format, const Size& size, const void* packed,
                   const ZeroPoints& zeros, const Tile& tile, const Fill& fill,
                   const Finish& finish) {
  const PackedRight right(size.depth, size.columns, format);
  const auto words = format.words_of(size.depth);
  const RowGroup group(words);
  Word* const left = row_memory(group.step * group.size);
  alignas(64) Sum sums[RowGroup::max_size * max_columns];
  Word row_sums[RowGroup::max_size];
  for (std::int64_t row = 0; row < tile.rows; row += group.size) {
    const auto rows = std::min(group.size, tile.rows - row);
    fill(tile.row + row, rows, group.step, left, zeros.needs_row_sums() ? row_sums : nullptr);
    for (std::int64_t column = tile.column; column < tile.column + tile.columns;
         column += max_columns) {
      const auto columns = std::min(max_columns, tile.column + tile.columns - column);
      const auto blocks = (rows + max_rows - 1) / max_rows;
      for (std::int64_t i = 0; i < blocks; ++i) {
        const auto begin = rows * i / blocks, end = rows * (i + 1) / blocks;
        format.multiply(
            end - begin,
            {left + begin * group.step, group.step, right.panel(packed, column), padded(columns),
             zeros.start(column), sums + begin * max_columns, max_columns, columns, words});
      }
      if (zeros.needs_row_sums()) zeros.correct(row_sums, rows, column, columns, sums);
      finish(Tile{tile.row + row, rows, column, columns}, sums);
    }
  }
}

/// Tiles of whole panels. A tile packs its left side itself, so it is wide.
inline Cut cut() {
  Cut made{max_columns, widest, max_rows};
  made.each = 2;
  return made;
}

/// Packs rows of a matrix that is not transposed.
inline void fill_rows(const Format& format, const Matrix& left, std::int64_t depth,
                      std::int64_t row, std::int64_t rows, std::int64_t step, Word* to,
                      Word* sums) {
  const auto with = [&]<class T>() {
    const int shift = format.left_shift(left.dtype);
    for (std::int64_t i = 0; i < rows; ++i) {
      const T* const from = static_cast<const T*>(left.data) + (row + i) * left.row_size;
      Word* const sum = sums ? sums + i : nullptr;
      format.steps == 4 ? pack_row<4>(from, depth, shift, to + i * step, sum)
                        : pack_row<2>(from, depth, shift, to + i * step, sum);
    }
  };
  left.dtype == tenon::u8 ? with.template operator()<std::uint8_t>()
                          : with.template operator()<std::int8_t>();
}

}  // namespace product::int8
