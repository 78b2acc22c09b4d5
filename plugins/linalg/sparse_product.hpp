// Products of a sparse matrix with a dense one, on the host's threads and with the same bits on any number of them.
#pragma once
#include <algorithm>
#include <vector>

#include "row_sums.hpp"
#include "sparse_rows.hpp"

namespace sparse {

/// A dense matrix anywhere in memory: element (i, j) is data[i * row + j * column].
template <class T>
struct Dense {
  T* data;
  std::int64_t row, column;
};

/// Rows that are worth a thread's while, and enough of them that what they share of the dense side is read from cache.
template <class T>
std::int64_t row_grain(const Rows<T>& rows, std::int64_t columns) {
  const double each =
      1 + static_cast<double>(rows.stored()) * static_cast<double>(columns) / static_cast<double>(std::max<std::int64_t>(rows.count(), 1));
  return std::max<std::int64_t>(static_cast<std::int64_t>(500'000 / each) + 1, rows.count() / 64);
}

/// Rows of out between those that the sparse side lists, and before `i`, become 0.
template <class T>
void clear_gap(const Rows<T>& rows, std::int64_t i, T* out, std::int64_t columns) {
  const auto first = i > 0 ? rows.ids[static_cast<std::size_t>(i) - 1] + 1 : 0;
  const auto last = i < rows.count() ? rows.ids[static_cast<std::size_t>(i)] : rows.total;
  std::fill_n(out + first * columns, (last - first) * columns, T(0));
}

/// out [total, columns] = left * right, whose rows lie whole in memory.
template <class T>
void multiply_rows(const tenon::Call& call, const Rows<T>& left, const T* right, std::int64_t right_row, std::int64_t columns, T* out) {
  const RowSums<T> sums{left.starts.data(), left.columns_of, left.values, right, right_row, columns, out, columns, left.ids.data()};
  const auto run = best_sum_rows<T>();
  clear_gap(left, left.count(), out, columns);
  call.parallel_for(left.count(), row_grain(left, columns), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) clear_gap(left, i, out, columns);
    run(sums, begin, end);
  });
}

/// Columns that are packed side by side where they do not lie so in memory.
inline constexpr std::int64_t panel = 16;

/// Columns [first, first + width) of the product, by way of panels of both dense sides.
template <class T>
void multiply_panel(const Rows<T>& left, Dense<const T> right, Dense<T> out, std::int64_t first, std::int64_t width) {
  std::vector<T> from(static_cast<std::size_t>(left.inner * panel)), to(static_cast<std::size_t>(left.count() * panel));
  for (std::int64_t j = 0; j < width; ++j)
    for (std::int64_t i = 0; i < left.inner; ++i)
      from[static_cast<std::size_t>(i * panel + j)] = right.data[i * right.row + (first + j) * right.column];
  best_sum_rows<T>()({left.starts.data(), left.columns_of, left.values, from.data(), panel, width, to.data(), panel, nullptr}, 0,
                     left.count());
  for (std::int64_t j = 0; j < width; ++j) {
    T* const column = out.data + (first + j) * out.column;
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < left.count(); ++i) {
      for (; row < left.ids[static_cast<std::size_t>(i)]; ++row) column[row * out.row] = 0;
      column[row++ * out.row] = to[static_cast<std::size_t>(i * panel + j)];
    }
    for (; row < left.total; ++row) column[row * out.row] = 0;
  }
}

/// out [total, columns] = left * right [inner, columns].
template <class T>
void multiply(const tenon::Call& call, const Rows<T>& left, Dense<const T> right, std::int64_t columns, Dense<T> out) {
  const bool whole = columns == 1 || (right.column == 1 && out.column == 1);
  if (whole && out.row == columns) return multiply_rows(call, left, right.data, right.row, columns, out.data);
  const auto panels = (columns + panel - 1) / panel;
  call.parallel_for(panels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) multiply_panel(left, right, out, i * panel, std::min(panel, columns - i * panel));
  });
}

}  // namespace sparse
