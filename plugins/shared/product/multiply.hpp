// Products of f32 matrices on the host's threads.
//
// The result is cut into tiles of one panel's columns and up to 256 rows. How it is cut does not change its bits (block.hpp), so that it
// may depend on the number of threads and on what is packed.
#pragma once
#include <algorithm>
#include <cstdint>
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

/// Rows of a panel that are multiplied before the next ones: together they stay in the second-level cache.
inline constexpr std::int64_t most_depth = 512;

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

/// One tile, at `to`: start + left * right, where left has `depth` columns; then finish(rows of it).
template <class Finish = Nothing>
void multiply_tile(const Level& level, const gemm::Operand<float>& left, const Right& right, std::int64_t depth, Target to, Start start,
                   const Tile& tile, const Finish& finish = {}) {
  const auto parts = std::max<std::int64_t>((depth + most_depth - 1) / most_depth, 1), width = padded(tile.columns);
  const auto most_rows = level.most_rows(tile.columns), blocks = (tile.rows + most_rows - 1) / most_rows;
  const bool in_place = !right.packed && readable_in_place(right.matrix, tile);
  Block block{};
  block.left_row = left.transposed ? 1 : left.row_size;
  block.left_depth = left.transposed ? left.row_size : 1;
  block.right_row = in_place ? right.matrix.row_size : width;
  block.result_row = to.row_size;
  block.columns = tile.columns;
  for (std::int64_t part = 0; part < parts; ++part) {
    const auto first = depth * part / parts;
    block.depth = depth * (part + 1) / parts - first;
    if (right.packed) {
      block.right = right.packed + tile.column * depth + first * width;
    } else if (in_place) {
      block.right = right.matrix.row(first) + tile.column;
    } else {
      float* const panel = thread_memory<float, most_depth * most_columns>();
      pack(level, right.matrix, first, block.depth, tile.column, tile.columns, panel);
      block.right = panel;
    }
    if (part > 0) start = {to.data, to.row_size};
    block.start_row = start.row_size;
    for (std::int64_t i = 0; i < blocks; ++i) {
      const auto begin = tile.rows * i / blocks, end = tile.rows * (i + 1) / blocks;
      block.left = left.row(tile.row + begin) + first * block.left_depth;
      block.start = start.at(begin, 0).data;
      block.result = to.data + begin * to.row_size;
      level.multiply(end - begin, block);
      if (part + 1 == parts) finish(Tile{tile.row + begin, end - begin, tile.column, tile.columns});
    }
  }
}

/// body(target) writes the tile where it belongs, or beside it; then it is added: to add to a sum is to add the whole product, once.
template <std::int64_t wide = most_columns, class Body>
void write_tile(Target result, bool add, const Tile& tile, Body&& body) {
  float* const corner = result.data + tile.row * result.row_size + tile.column;
  if (!add) return body(Target{corner, result.row_size});
  float* const sums = thread_memory<float, most_tall * wide>();
  body(Target{sums, wide});
  for (std::int64_t i = 0; i < tile.rows; ++i)
    tenon::elementwise::for_each(tile.columns,
                                 [to = corner + i * result.row_size, from = sums + i * wide](std::int64_t j) { to[j] = to[j] + from[j]; });
}

/// body(result, tile) for all tiles of `count` results of one size. `wide`: most columns of a tile.
template <std::int64_t wide = most_columns, class Body>
void for_each_tile(const tenon::Call& call, std::int64_t count, Size size, Body&& body) {
  constexpr std::int64_t low = 48;
  constexpr double worth_a_thread = 250'000;  // multiplications
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const auto panels = up(size.columns, wide);
  if (count == 0 || panels == 0 || size.rows == 0) return;
  const auto wanted =
      call.threads() == 1 ? 1 : up(4 * std::int64_t{call.threads()}, count * panels);  // tiles of a panel, so that threads end together
  const auto height = std::min(most_tall, std::max(low, up(up(size.rows, wanted), 24) * 24)), bands = up(size.rows, height);
  const double each = static_cast<double>(std::clamp<std::int64_t>(size.rows, 8, height)) *
                      static_cast<double>(std::min(size.columns, wide)) * static_cast<double>(size.depth);
  const auto grain = each >= worth_a_thread ? 1 : static_cast<std::int64_t>(worth_a_thread / std::max(each, 1.0));
  call.parallel_for(count * bands * panels, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto item = begin; item < end; ++item) {
      const auto row = item / panels % bands * height, column = item % panels * wide;
      body(item / panels / bands, Tile{row, std::min(height, size.rows - row), column, std::min(wide, size.columns - column)});
    }
  });
}

/// result[rows, columns] becomes, or with `add` grows by, start + left[rows, depth] * right[depth, columns]. finish(tile): for rows of it
/// that are complete, on any thread; not with `add`.
template <class Finish = Nothing>
void multiply(const tenon::Call& call, const gemm::Operand<float>& left, const Right& right, float* result, Size size, Start start,
              bool add = false, const Finish& finish = {}) {
  const Level& level = usable_level();
  for_each_tile(call, 1, size, [&](std::int64_t, const Tile& tile) {
    write_tile({result, size.columns}, add, tile,
               [&](Target to) { multiply_tile(level, left, right, size.depth, to, start.at(tile.row, tile.column), tile, finish); });
  });
}

}  // namespace product
