// The tiles of a product's result, which the host's threads share: one or several panels wide, and
// any number of rows. The tiling does not change the bits, so it may depend on the number of
// threads and on what is packed.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <tenon/elementwise/for_each.hpp>
#include <tenon/operator.hpp>

#include "panels.hpp"

namespace product {

/// The right side, and its packed form if it is a packed constant.
template <class Number>
struct RightOf {
  gemm::Operand<float> matrix;
  const Number* packed = nullptr;
};
using Right = RightOf<float>;

/// The first element of a tile or result, and the row stride.
struct Target {
  float* data;
  std::int64_t row_size;
};

/// Initial values of the sums: null for zeros. With row_size 0 all rows have the same ones.
struct Start {
  const float* data = nullptr;
  std::int64_t row_size = 0;

  Start at(std::int64_t row, std::int64_t column) const {
    return {data ? data + row * row_size + column : nullptr, row_size};
  }
};

struct Tile {
  std::int64_t row, rows, column, columns;
};

/// Default of `finish`, which is called for rows of a tile whose sums are complete, while they are
/// in the cache.
struct Nothing {
  void operator()(const Tile&) const {}
};

/// Returns memory for `count` numbers that belongs to this thread.
template <class T, std::int64_t count>
T* thread_memory() {
  struct Free {
    void operator()(T* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };
  thread_local const std::unique_ptr<T, Free> memory(
      static_cast<T*>(::operator new (sizeof(T) * count, std::align_val_t{64})));
  return memory.get();
}

/// Limits the height of tiles that write_tile() adds.
inline Cut for_sums(Cut cut, bool add) {
  if (add) cut.tallest = max_tall;
  return cut;
}

/// body(target) writes a tile directly to the result, or to a buffer that is then added, so that
/// the whole product is added to each sum once.
template <class Body>
void write_tile(Target result, bool add, const Tile& tile, Body&& body) {
  float* const corner = result.data + tile.row * result.row_size + tile.column;
  if (!add) return body(Target{corner, result.row_size});
  float* const sums = thread_memory<float, max_tall * widest>();
  body(Target{sums, tile.columns});
  for (std::int64_t i = 0; i < tile.rows; ++i)
    tenon::elementwise::for_each(
        tile.columns, [to = corner + i * result.row_size, from = sums + i * tile.columns](
                          std::int64_t j) { to[j] = to[j] + from[j]; });
}

/// Calls body(result, tile) for all tiles of `count` results of one size.
template <class Body>
void for_each_tile(const tenon::Call& call, const Cut& cut, std::int64_t count, Size size,
                   Body&& body) {
  constexpr double worth_a_thread = 250'000;  // multiplications
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const auto low = up(48, cut.band) * cut.band;
  if (count == 0 || size.columns == 0 || size.rows == 0) return;
  const auto target =
      call.threads() == 1
          ? 1
          : cut.each * std::int64_t{call.threads()};  // so that threads end at the same time
  auto width = cut.wide;
  while (width > max_columns && count * up(size.columns, width) * up(size.rows, cut.tall) < target)
    width /= 2;
  const auto panels = up(size.columns, cut.panel), across = up(panels, width / cut.panel);
  const auto row_cuts = std::max(up(target, count * across), up(size.rows, cut.tallest));
  const auto height = std::min(cut.tallest,
                               std::max(low, up(up(size.rows, row_cuts), cut.band) * cut.band)),
             bands = up(size.rows, height);
  const double each = static_cast<double>(std::clamp<std::int64_t>(size.rows, 8, height)) *
                      static_cast<double>(std::min(size.columns, width)) *
                      static_cast<double>(size.depth);
  const auto grain =
      each >= worth_a_thread ? 1 : static_cast<std::int64_t>(worth_a_thread / std::max(each, 1.0));
  call.parallel_for(count * bands * across, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto item = begin; item < end; ++item) {
      const auto row = item / across % bands * height, i = item % across;
      const auto column = panels * i / across * cut.panel,
                 end = std::min(panels * (i + 1) / across * cut.panel, size.columns);
      body(item / across / bands,
           Tile{row, std::min(height, size.rows - row), column, end - column});
    }
  });
}

}  // namespace product
