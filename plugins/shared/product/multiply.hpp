// Products of f32 matrices on the host's threads.
//
// The result is cut into tiles of the columns of one or several panels and up to 256 rows. How it is cut does not change its bits
// (block.hpp), so that it may depend on the number of threads and on what is packed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <tenon/elementwise/for_each.hpp>
#include <tenon/operator.hpp>

#include "panels.hpp"

namespace product {

struct Size {
  std::int64_t rows, columns, depth;
};

/// The right side as it lies, and packed where somebody has kept that.
struct Right {
  gemm::Operand<float> matrix;
  const float* packed = nullptr;
};

/// Where a tile or a result begins.
struct Target {
  float* data;
  std::int64_t row_size;
};

/// What each sum starts with: null for zeros. row_size 0 gives all rows the same.
struct Start {
  const float* data = nullptr;
  std::int64_t row_size = 0;

  Start at(std::int64_t row, std::int64_t column) const { return {data ? data + row * row_size + column : nullptr, row_size}; }
};

struct Tile {
  std::int64_t row, rows, column, columns;
};

/// Called for rows of a tile whose sums are complete, while they are in the cache.
struct Nothing {
  void operator()(const Tile&) const {}
};

/// Rows of a tile.
inline constexpr std::int64_t most_tall = 256;

/// `count` numbers of this thread's own.
template <class T, std::int64_t count>
T* thread_memory() {
  struct Free {
    void operator()(T* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };
  thread_local const std::unique_ptr<T, Free> memory(static_cast<T*>(::operator new (sizeof(T) * count, std::align_val_t{64})));
  return memory.get();
}

/// A few rows are read where they lie. More of them are worth a copy where rows are pages apart, which few sets of a cache could hold.
inline bool readable_in_place(const gemm::Operand<float>& right, const Tile& tile) {
  constexpr std::int64_t page = 1024;
  return !right.transposed && tile.columns % vector == 0 && (tile.rows <= 2 * vector || right.row_size % page != 0);
}

/// The rows of a tile, cut into blocks.
struct Blocks {
  std::int64_t rows, most, count = (rows + most - 1) / most;

  std::int64_t begin(std::int64_t i) const { return rows * i / count; }
};

/// The left side of a tile, as its blocks read it.
struct Left {
  const float* data;
  std::int64_t row, depth, block;  ///< distances; `block`: from block to block where they are packed, 0 where rows lie in one piece

  const float* at(const Blocks& blocks, std::int64_t i) const { return data + (block > 0 ? i * block : blocks.begin(i) * row); }
};

/// Where rows are columns in memory, or pages apart, steps of the depth or rows share few sets of a cache.
inline bool lies_badly(const gemm::Operand<float>& left) {
  constexpr std::int64_t page = 1024;
  return left.transposed || left.row_size % page == 0;
}

/// A copy of a tile's left side pays if many columns read it, and the more the further apart its lines are.
inline bool worth_packing(const Level& level, const gemm::Operand<float>& left, const Tile& tile) {
  constexpr std::int64_t enough = 64 * 256;
  return lies_badly(left) && tile.columns > level.cut.panel && tile.rows >= level.most_rows(level.cut.panel) &&
         left.row_size >= enough / tile.columns;
}

/// The left side of a tile, columns `first` to `first + depth`. A block is packed step by step, or row by row if they lie like that.
inline Left left_side(const Level& level, const gemm::Operand<float>& left, const Tile& tile, const Blocks& blocks, std::int64_t first,
                      std::int64_t depth) {
  if (depth == 0) return {};  // no element, so perhaps no memory
  const auto row = left.transposed ? 1 : left.row_size, step = left.transposed ? left.row_size : 1;
  const float* const from = left.row(tile.row) + first * step;
  if (!worth_packing(level, left, tile)) return {from, row, step, 0};
  constexpr std::int64_t width = 8, few = 8, line = 16;
  constexpr auto size = most_tall / 4 * width * (most_depth + 2 * line);
  float* const to = thread_memory<float, size>();
  if (!left.transposed) {
    const auto packed_row = depth + line;
    for (std::int64_t i = 0; i < tile.rows; ++i) std::copy_n(from + i * row, depth, to + i * packed_row);
    return {to, packed_row, 1, 0};
  }
  const auto block = depth * width + line;
  for (std::int64_t k = 0; k < depth; k += few) {  // all blocks read these lines one after the other
    const auto steps = std::min(few, depth - k);
    for (std::int64_t i = 0; i < blocks.count; ++i) {
      const auto begin = blocks.begin(i);
      const float* numbers = from + k * step + begin;
      float* place = to + i * block + k * width;
      if (begin + width <= tile.rows)  // some of the next block, too, since a number known in advance is copied faster
        for (std::int64_t each = 0; each < steps; ++each, numbers += step, place += width)
          std::memcpy(place, numbers, width * sizeof(float));
      else
        for (std::int64_t each = 0; each < steps; ++each, numbers += step, place += width)
          std::copy_n(numbers, blocks.begin(i + 1) - begin, place);
    }
  }
  return {to, 1, width, block};
}

/// The right side of a tile, as its blocks read it.
struct Panels {
  const Level& level;
  const Right& right;
  std::int64_t depth;  ///< of the whole product
  bool in_place;

  /// Some columns of the right side, its rows from `first` to `first + rows`. Memory of this thread may hold them until the next call.
  void read_by(Block& block, std::int64_t first, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    block.columns = columns;
    block.right_row = in_place ? right.matrix.row_size : padded(columns);
    if (right.packed) {
      block.right = right.packed + column * depth + first * padded(columns);
    } else if (in_place) {
      block.right = right.matrix.row(first) + column;
    } else {
      float* const panel = thread_memory<float, most_depth * most_columns>();
      pack(level, right.matrix, first, rows, column, columns, panel);
      block.right = panel;
    }
  }
};

/// Part i of `count` of some numbers is asked for into the second-level cache. Inline, as GCC drops calls of what does nothing else.
template <class T>
[[gnu::always_inline]] inline void fetch_part(const T* numbers, std::int64_t size, std::int64_t i, std::int64_t count) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (auto k = size * i / count / line * line; k < size * (i + 1) / count; k += line) __builtin_prefetch(numbers + k, 0, 2);
}

/// One tile, at `to`: start + left * right, where left has `depth` columns; then finish(rows of it).
template <class Finish = Nothing>
void multiply_tile(const Level& level, const gemm::Operand<float>& left, const Right& right, std::int64_t depth, Target to, Start start,
                   const Tile& tile, const Finish& finish = {}) {
  const auto parts = std::max<std::int64_t>((depth + level.depth - 1) / level.depth, 1), panel = level.cut.panel;
  const Blocks blocks{tile.rows, level.most_rows(std::min(tile.columns, panel))};
  const Panels panels{level, right, depth, !right.packed && readable_in_place(right.matrix, tile)};
  Block block{};
  block.result_row = to.row_size;
  for (std::int64_t part = 0; part < parts; ++part) {
    const auto first = depth * part / parts;
    const bool last = part + 1 == parts;
    block.depth = depth * (part + 1) / parts - first;
    const auto rows = left_side(level, left, tile, blocks, first, block.depth);
    block.left_row = rows.row;
    block.left_depth = rows.depth;
    if (part > 0) start = {to.data, to.row_size};
    block.start_row = start.row_size;
    for (std::int64_t column = 0; column < tile.columns; column += panel) {
      panels.read_by(block, first, block.depth, tile.column + column, std::min(panel, tile.columns - column));
      for (std::int64_t i = 0; i < blocks.count; ++i) {
        const auto begin = blocks.begin(i), end = blocks.begin(i + 1);
        // What follows in memory is multiplied next, and mostly lies where many cores share it.
        if (right.packed) fetch_part(block.right + block.depth * block.right_row, block.depth * block.right_row, i, blocks.count);
        block.left = rows.at(blocks, i);
        block.start = start.at(begin, column).data;
        block.result = to.data + begin * to.row_size + column;
        level.multiply(end - begin, block);
        if (last && tile.columns <= panel) finish(Tile{tile.row + begin, end - begin, tile.column, tile.columns});
      }
      const auto end = column + block.columns, begin = (end - 1) / most_columns * most_columns;
      if (last && tile.columns > panel && (end % most_columns == 0 || end == tile.columns))
        finish(Tile{tile.row, tile.rows, tile.column + begin, end - begin});
    }
  }
}

/// body(target) writes the tile where it belongs, or beside it; then it is added: to add to a sum is to add the whole product, once.
template <class Body>
void write_tile(Target result, bool add, const Tile& tile, Body&& body) {
  float* const corner = result.data + tile.row * result.row_size + tile.column;
  if (!add) return body(Target{corner, result.row_size});
  float* const sums = thread_memory<float, most_tall * widest>();
  body(Target{sums, tile.columns});
  for (std::int64_t i = 0; i < tile.rows; ++i)
    tenon::elementwise::for_each(
        tile.columns, [to = corner + i * result.row_size, from = sums + i * tile.columns](std::int64_t j) { to[j] = to[j] + from[j]; });
}

/// Tiles share a right side as it lies among few bands, each of which packs it again, and any other among few columns, each of which reads
/// the left side again.
inline Cut cut_for(const Level& level, const gemm::Operand<float>& left, const Right& right) {
  Cut cut = level.cut;
  if (!right.packed && !lies_badly(left)) cut.tall *= 2;
  if (left.transposed && left.row_size >= most_wide) cut.wide = most_wide;  // packed once for several panels
  return cut;
}

/// body(result, tile) for all tiles of `count` results of one size.
template <class Body>
void for_each_tile(const tenon::Call& call, const Cut& cut, std::int64_t count, Size size, Body&& body) {
  constexpr std::int64_t low = 48;
  constexpr double worth_a_thread = 250'000;  // multiplications
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  if (count == 0 || size.columns == 0 || size.rows == 0) return;
  const auto wanted = call.threads() == 1 ? 1 : 4 * std::int64_t{call.threads()};  // so that threads end together
  auto width = cut.wide;
  while (width > most_columns && count * up(size.columns, width) * up(size.rows, cut.tall) < wanted) width /= 2;
  const auto panels = up(size.columns, cut.panel), across = up(panels, width / cut.panel);
  const auto parts = std::max(up(wanted, count * across), up(size.rows, most_tall));
  const auto height = std::min(most_tall, std::max(low, up(up(size.rows, parts), cut.band) * cut.band)), bands = up(size.rows, height);
  const double each = static_cast<double>(std::clamp<std::int64_t>(size.rows, 8, height)) *
                      static_cast<double>(std::min(size.columns, width)) * static_cast<double>(size.depth);
  const auto grain = each >= worth_a_thread ? 1 : static_cast<std::int64_t>(worth_a_thread / std::max(each, 1.0));
  call.parallel_for(count * bands * across, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto item = begin; item < end; ++item) {
      const auto row = item / across % bands * height, i = item % across;
      const auto column = panels * i / across * cut.panel, end = std::min(panels * (i + 1) / across * cut.panel, size.columns);
      body(item / across / bands, Tile{row, std::min(height, size.rows - row), column, end - column});
    }
  });
}

/// Products in f32. Kernels name what they compute in by such a class; the other is bf16::InBf16.
struct InF32 {
  using Packed = float;
  using Right = product::Right;

  const Level& level = usable_level();

  Cut cut_for(const gemm::Operand<float>& left, const Right& right) const { return product::cut_for(level, left, right); }
  template <class Finish = Nothing>
  void multiply_tile(const gemm::Operand<float>& left, const Right& right, std::int64_t depth, Target to, Start start, const Tile& tile,
                     const Finish& finish = {}) const {
    product::multiply_tile(level, left, right, depth, to, start, tile, finish);
  }

  static std::int64_t packed_size(std::int64_t depth, std::int64_t columns) { return product::packed_size(depth, columns); }
  static void pack(const gemm::Operand<float>& right, std::int64_t depth, std::int64_t columns, Packed* to) {
    product::pack(right, depth, columns, to);
  }
  static std::string packing() { return product::packing(); }
};

/// result[rows, columns] becomes, or with `add` grows by, start + left[rows, depth] * right[depth, columns]. finish(tile): for rows of it
/// that are complete, on any thread; not with `add`.
template <class Arithmetic = InF32, class Finish = Nothing>
void multiply(const tenon::Call& call, const gemm::Operand<float>& left, const typename Arithmetic::Right& right, float* result, Size size,
              Start start, bool add = false, const Finish& finish = {}) {
  const Arithmetic arithmetic;
  for_each_tile(call, arithmetic.cut_for(left, right), 1, size, [&](std::int64_t, const Tile& tile) {
    write_tile({result, size.columns}, add, tile,
               [&](Target to) { arithmetic.multiply_tile(left, right, size.depth, to, start.at(tile.row, tile.column), tile, finish); });
  });
}

}  // namespace product
