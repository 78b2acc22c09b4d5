// Products of a sparse matrix with a dense one on the host's threads. Results do not depend on the
// number of threads.
#pragma once
#include <algorithm>
#include <vector>

#include "product_layout.hpp"
#include "row_sums.hpp"
#include "sparse_rows.hpp"

namespace sparse {

/// Number of rows per task: enough to be worth a thread's time, and so that shared rows of the
/// dense side are read from the cache.
template <class T>
std::int64_t row_grain(const Rows<T>& rows, std::int64_t columns) {
  const double each = 1 + static_cast<double>(rows.stored()) * static_cast<double>(columns) /
                              static_cast<double>(std::max<std::int64_t>(rows.count(), 1));
  return std::max<std::int64_t>(static_cast<std::int64_t>(500'000 / each) + 1, rows.count() / 64);
}

/// Zeros the rows of out between the last listed row and row `i`.
template <class T>
void clear_gap(const Rows<T>& rows, std::int64_t i, T* out, std::int64_t columns) {
  const auto first = i > 0 ? rows.ids[static_cast<std::size_t>(i) - 1] + 1 : 0;
  const auto last = i < rows.count() ? rows.ids[static_cast<std::size_t>(i)] : rows.total;
  std::fill_n(out + first * columns, (last - first) * columns, T(0));
}

/// out [total, columns] = left * right, with contiguous rows.
template <class T>
void multiply_rows(const tenon::Call& call, const Rows<T>& left, const T* right,
                   std::int64_t right_row, std::int64_t columns, T* out) {
  const RowSums<T> sums{{left.starts.data(), left.columns_of, left.values},
                        right,
                        right_row,
                        columns,
                        out,
                        columns,
                        left.ids.data()};
  const auto run = best_sum_rows<T>();
  clear_gap(left, left.count(), out, columns);
  call.parallel_for(left.count(), row_grain(left, columns),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto i = begin; i < end; ++i) clear_gap(left, i, out, columns);
                      run(sums, begin, end);
                    });
}

/// out [rows, columns] = matrix * right, with contiguous rows. Each chunk of rows stores about the
/// same number of values.
template <class T>
void multiply_csr(const tenon::Call& call, const tenon::Csr<const T>& matrix, const T* right,
                  std::int64_t right_row, std::int64_t columns, T* out) {
  const RowSums<T> sums{{matrix.row_starts, matrix.columns_of, matrix.values},
                        right,
                        right_row,
                        columns,
                        out,
                        columns,
                        nullptr};
  const auto run = best_sum_rows<T>();
  const double work = static_cast<double>(matrix.nnz + matrix.rows) * static_cast<double>(columns);
  const auto chunks = static_cast<std::int64_t>(std::clamp(work / 500'000, 1.0, 64.0));
  // count a row as one additional value, since empty rows are written, too
  const auto first_row = [&](std::int64_t chunk) {
    const auto target = (matrix.nnz + matrix.rows) / chunks * chunk;
    std::int64_t low = 0, high = matrix.rows;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      matrix.row_starts[middle] + middle < target ? low = middle + 1 : high = middle;
    }
    return chunk == chunks ? matrix.rows : low;
  };
  call.parallel_for(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    run(sums, first_row(begin), first_row(end));
  });
}

/// Width of the panels into which columns that are not contiguous are packed.
inline constexpr std::int64_t panel = 16;

/// Packs columns [first, first + width) of right into a panel.
template <class T>
std::vector<T> packed(const Rows<T>& left, Dense<const T> right, std::int64_t first,
                      std::int64_t width) {
  std::vector<T> from(static_cast<std::size_t>(left.inner * panel));
  for (std::int64_t j = 0; j < width; ++j)
    for (std::int64_t i = 0; i < left.inner; ++i)
      from[static_cast<std::size_t>(i * panel + j)] =
          right.data[i * right.row + (first + j) * right.column];
  return from;
}

/// Variant without packing: for few values and many columns, most of which packing would not help.
template <class T>
void sum_unpacked(const Rows<T>& left, Dense<const T> right, std::int64_t first, std::int64_t width,
                  T* to) {
  for (std::int64_t i = 0; i < left.count(); ++i)
    for (std::int64_t j = 0; j < width; ++j) {
      const T* const column = right.data + (first + j) * right.column;
      T sum = 0;
      for (auto e = left.starts[static_cast<std::size_t>(i)];
           e < left.starts[static_cast<std::size_t>(i) + 1]; ++e)
        sum += left.values[e] * column[left.columns_of[e] * right.row];
      to[i * panel + j] = sum;
    }
}

/// Columns [first, first + width) of the product, through panels of both dense sides that are not
/// much larger than the stored values.
template <class T>
void multiply_panel(const Rows<T>& left, Dense<const T> right, Dense<T> out, std::int64_t first,
                    std::int64_t width) {
  std::vector<T> to(static_cast<std::size_t>(left.count() * panel));
  if (left.inner / 4 > left.stored()) {
    sum_unpacked(left, right, first, width, to.data());
  } else {
    const auto from = packed(left, right, first, width);
    best_sum_rows<T>()({{left.starts.data(), left.columns_of, left.values},
                        from.data(),
                        panel,
                        width,
                        to.data(),
                        panel,
                        nullptr},
                       0, left.count());
  }
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
void multiply(const tenon::Call& call, const Rows<T>& left, Dense<const T> right,
              std::int64_t columns, Dense<T> out) {
  const bool whole = columns == 1 || (right.column == 1 && out.column == 1);
  if (whole && out.row == columns)
    return multiply_rows(call, left, right.data, right.row, columns, out.data);
  const auto panels = (columns + panel - 1) / panel;
  call.parallel_for(panels, 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i)
      multiply_panel(left, right, out, i * panel, std::min(panel, columns - i * panel));
  });
}

}  // namespace sparse
