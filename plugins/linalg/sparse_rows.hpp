// A csr matrix or its transpose as a list of its nonempty rows.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <tenon/operator.hpp>
#include <utility>
#include <vector>

namespace sparse {

/// Row ids[i] of a matrix [total, inner] stores values[e] at column columns_of[e], for e in
/// [starts[i], starts[i + 1]). Rows that are not listed are empty. The ids increase. Not copyable:
/// it may point into itself.
template <class T>
struct Rows {
  std::int64_t total = 0, inner = 0;
  std::vector<std::int64_t> ids, starts;
  const std::int64_t* columns_of = nullptr;
  const T* values = nullptr;
  std::vector<std::int64_t> own_columns;  // used if the matrix was transposed
  std::vector<T> own_values;

  std::int64_t count() const { return static_cast<std::int64_t>(ids.size()); }
  std::int64_t stored() const { return starts.back(); }
};

template <class T>
Rows<T> listed(const tenon::Csr<const T>& matrix) {
  Rows<T> rows{matrix.rows, matrix.columns, {}, {0}, matrix.columns_of, matrix.values, {}, {}};
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    if (matrix.row_starts[row + 1] == matrix.row_starts[row]) continue;
    rows.ids.push_back(row);
    rows.starts.push_back(matrix.row_starts[row + 1]);
  }
  return rows;
}

/// Returns the matrix with empty rows removed from the list.
template <class T>
Rows<T> compact(const Rows<T>& rows) {
  Rows<T> all{rows.count(),    rows.inner,  rows.ids, rows.starts,
              rows.columns_of, rows.values, {},       {}};
  std::iota(all.ids.begin(), all.ids.end(), 0);
  return all;
}

/// A partition of a matrix's rows that depends only on the matrix, with the number of values that
/// each chunk stores in each column.
class ColumnCounts {
 public:
  template <class T>
  ColumnCounts(const tenon::Call& call, const tenon::Csr<const T>& matrix)
      : columns_(matrix.columns),
        chunks_(std::clamp<std::int64_t>(matrix.nnz / std::max<std::int64_t>(columns_ * 4, 1 << 15),
                                         1, 64)) {
    for (std::int64_t chunk = 0; chunk <= chunks_; ++chunk) {
      const auto* const at = std::lower_bound(matrix.row_starts, matrix.row_starts + matrix.rows,
                                              matrix.nnz * chunk / chunks_);
      first_rows_.push_back(chunk == chunks_ ? matrix.rows : at - matrix.row_starts);
    }
    counts_.assign(static_cast<std::size_t>(chunks_ * columns_), 0);
    call.parallel_for(chunks_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto chunk = begin; chunk < end; ++chunk) {
        auto* const counts = of(chunk);
        for (auto e = matrix.row_starts[first_row(chunk)];
             e < matrix.row_starts[first_row(chunk + 1)]; ++e)
          ++counts[matrix.columns_of[e]];
      }
    });
  }

  std::int64_t chunks() const { return chunks_; }
  std::int64_t first_row(std::int64_t chunk) const {
    return first_rows_[static_cast<std::size_t>(chunk)];
  }
  std::int64_t* of(std::int64_t chunk) { return counts_.data() + chunk * columns_; }

  /// Turns counts into the start of each chunk's values of each column. Calls visit() for each
  /// nonempty column with its end.
  template <class Visit>
  void sum(Visit visit) {
    std::int64_t position = 0;
    for (std::int64_t column = 0; column < columns_; ++column) {
      const auto first = position;
      for (std::int64_t chunk = 0; chunk < chunks_; ++chunk)
        position += std::exchange(of(chunk)[column], position);
      if (position > first) visit(column, position);
    }
  }

 private:
  std::int64_t columns_, chunks_;
  std::vector<std::int64_t> first_rows_, counts_;
};

/// For about as many columns as values: time and memory are proportional to both, and all threads
/// are used.
template <class T>
void transpose_by_counting(const tenon::Call& call, const tenon::Csr<const T>& matrix,
                           Rows<T>& rows) {
  ColumnCounts counts(call, matrix);
  counts.sum([&](std::int64_t column, std::int64_t end) {
    rows.ids.push_back(column);
    rows.starts.push_back(end);
  });
  call.parallel_for(counts.chunks(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto chunk = begin; chunk < end; ++chunk) {
      auto* const next = counts.of(chunk);
      for (auto row = counts.first_row(chunk); row < counts.first_row(chunk + 1); ++row)
        for (auto e = matrix.row_starts[row]; e < matrix.row_starts[row + 1]; ++e) {
          const auto position = static_cast<std::size_t>(next[matrix.columns_of[e]]++);
          rows.own_columns[position] = row;
          rows.own_values[position] = matrix.values[e];
        }
    }
  });
}

/// For mostly empty columns: memory is proportional to the number of values only.
template <class T>
void transpose_by_sorting(const tenon::Csr<const T>& matrix, Rows<T>& rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(matrix.nnz)), row_of(order.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    std::fill(row_of.begin() + matrix.row_starts[row], row_of.begin() + matrix.row_starts[row + 1],
              row);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto l, auto r) { return matrix.columns_of[l] < matrix.columns_of[r]; });
  for (std::size_t position = 0; position < order.size(); ++position) {
    const auto column = matrix.columns_of[order[position]];
    if (rows.ids.empty() || rows.ids.back() != column) {
      rows.ids.push_back(column);
      rows.starts.push_back(0);
    }
    rows.starts.back() = static_cast<std::int64_t>(position) + 1;
    rows.own_columns[position] = row_of[static_cast<std::size_t>(order[position])];
    rows.own_values[position] = matrix.values[order[position]];
  }
}

/// Whether most columns are empty.
template <class T>
bool mostly_empty(const tenon::Csr<const T>& matrix) {
  return matrix.columns / 8 > matrix.nnz;
}

/// The nonempty columns, ascending, and the index of each column in this list.
struct ColumnsUsed {
  std::vector<std::int64_t> ids, indices;
};
template <class T>
ColumnsUsed columns_used(const tenon::Call& call, const tenon::Csr<const T>& matrix) {
  ColumnsUsed used{{}, std::vector<std::int64_t>(static_cast<std::size_t>(matrix.columns), 0)};
  call.parallel_for(matrix.nnz, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    for (auto e = begin; e < end; ++e) {  // several threads may mark the same column
      const std::atomic_ref mark(used.indices[static_cast<std::size_t>(matrix.columns_of[e])]);
      if (mark.load(std::memory_order_relaxed) == 0) mark.store(1, std::memory_order_relaxed);
    }
  });
  for (std::int64_t column = 0; column < matrix.columns; ++column) {
    auto& index = used.indices[static_cast<std::size_t>(column)];
    if (index == 0) continue;
    index = static_cast<std::int64_t>(used.ids.size());
    used.ids.push_back(column);
  }
  return used;
}

/// The rows of the transpose, with values in the order of the matrix's rows for any number of
/// threads.
template <class T>
Rows<T> transposed(const tenon::Call& call, const tenon::Csr<const T>& matrix) {
  const auto stored = static_cast<std::size_t>(matrix.nnz);
  Rows<T> rows{matrix.columns,
               matrix.rows,
               {},
               {0},
               nullptr,
               nullptr,
               std::vector<std::int64_t>(stored),
               std::vector<T>(stored)};
  mostly_empty(matrix) ? transpose_by_sorting(matrix, rows)
                       : transpose_by_counting(call, matrix, rows);
  rows.columns_of = rows.own_columns.data();
  rows.values = rows.own_values.data();
  return rows;
}

template <class T>
Rows<T> rows_of(const tenon::Call& call, const tenon::Csr<const T>& matrix, bool transpose) {
  return transpose ? transposed(call, matrix) : listed(matrix);
}

}  // namespace sparse
