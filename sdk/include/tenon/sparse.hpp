// Sparse tensors in kernels. All pointers are borrowed for the duration of the call.
#pragma once
#include <cstdint>

#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// A matrix [rows, columns] with nnz stored values, row by row. A row may be empty; a stored value
/// may be 0.
///
/// Example, y = x v:
///
///     const auto x = call.csr<float>(0);
///     for (std::int64_t row = 0; row < x.rows; ++row) {
///       float sum = 0;
///       for (auto i = x.row_starts[row]; i < x.row_starts[row + 1]; ++i)
///         sum += x.values[i] * v[x.columns_of[i]];
///       y[row] = sum;
///     }
template <class T>
struct Csr {
  std::int64_t rows, columns, nnz;
  T* values;                       ///< [nnz]
  const std::int64_t* columns_of;  ///< [nnz], ascending within a row
  const std::int64_t* row_starts;  ///< [rows + 1], from 0 to nnz
};

/// Memory of a csr output. Fill all of it before the call returns; with nnz = 0, row_starts still
/// has rows + 1 zeros.
template <class T>
struct CsrOut {
  T* values;                              ///< [nnz]
  std::int64_t *columns_of, *row_starts;  ///< [nnz], [rows + 1]
};

/// A tensor [total_rows, ...] with some stored rows; all others are zero.
///
/// Example: copies it to a dense tensor of zeros.
///
///     const auto x = call.row_sparse<float>(0);
///     for (std::int64_t i = 0; i < x.rows; ++i)
///       std::copy_n(x.values + i * x.row_size, x.row_size, dense + x.row_ids[i] * x.row_size);
template <class T>
struct RowSparse {
  std::int64_t total_rows, rows, row_size;  ///< row_size: elements per row
  T* values;                                ///< [rows, row_size]
  const std::int64_t* row_ids;              ///< [rows], ascending
};

/// Memory of a row_sparse output. Fill all of it before the call returns.
template <class T>
struct RowSparseOut {
  T* values;              ///< [rows, row_size]
  std::int64_t* row_ids;  ///< [rows], must be ascending
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
