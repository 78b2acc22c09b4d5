// Sparse tensors as kernels read and write them. All pointers are borrowed for the length of the call.
#pragma once
#include <cstdint>

#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// A matrix [rows, columns] of which only nnz values are stored, row after row.
template <class T>
struct Csr {
  std::int64_t rows, columns, nnz;
  T* values;                       ///< [nnz]
  const std::int64_t* columns_of;  ///< [nnz], ascending within a row
  const std::int64_t* row_starts;  ///< [rows + 1], from 0 to nnz
};

/// Memory of a csr output, to be filled whole before the call returns.
template <class T>
struct CsrOut {
  T* values;                              ///< [nnz]
  std::int64_t *columns_of, *row_starts;  ///< [nnz], [rows + 1]
};

/// The rows of a dense tensor [total_rows, ...] that are not all zero.
template <class T>
struct RowSparse {
  std::int64_t total_rows, rows, row_size;  ///< row_size: elements of one row
  T* values;                                ///< [rows, row_size]
  const std::int64_t* row_ids;              ///< [rows], ascending
};

/// Memory of a row_sparse output, to be filled whole before the call returns.
template <class T>
struct RowSparseOut {
  T* values;              ///< [rows, row_size]
  std::int64_t* row_ids;  ///< [rows], to be ascending
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
