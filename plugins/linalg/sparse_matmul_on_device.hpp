// matmul with one csr and one dense side on a CUDA device. The terms of each element are added in
// order.
#pragma once
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/number.hpp>
#include <tenon/gpu/scan.hpp>
#include <tenon/gpu/scratch.hpp>
#include <tenon/gpu/sort.hpp>

#include "rows_times_dense.hpp"

namespace sparse {

/// The column of each stored value, or the number of columns for an index out of range.
template <class T>
struct ColumnOf {
  tenon::Csr<const T> matrix;
  tenon::gpu::Fault fault;

  TENON_DEVICE std::int64_t operator()(std::int64_t e) const {
    return fault.fits(matrix.columns_of[e], matrix.columns) ? matrix.columns_of[e] : matrix.columns;
  }
};

/// Whether a column begins at position i of the sorted values.
struct BeginsColumn {
  const std::int64_t* columns;
  std::int64_t limit;

  TENON_FN std::int64_t operator()(std::int64_t i) const {
    return columns[i] < limit && (i == 0 || columns[i - 1] != columns[i]);
  }
};

/// The row of each stored value.
struct RowOf {
  const std::int64_t* row_starts;
  std::int64_t rows;
  std::int64_t* row_of;

  TENON_FN void operator()(std::int64_t e) const {
    std::int64_t low = 0, high = rows;  // the last row that begins at or before e
    while (high - low > 1) {
      const auto middle = low + (high - low) / 2;
      if (row_starts[middle] <= e)
        low = middle;
      else
        high = middle;
    }
    row_of[e] = low;
  }
};

/// out += matrix' * right: one block for each nonempty column, with its values in the order of
/// their rows.
template <class T>
struct ColumnTimesDense {
  tenon::Csr<const T> matrix;
  tenon::gpu::Sorted sorted;  ///< values by column
  const std::int64_t* row_of;
  Dense<const T> right;
  Dense<T> out;
  std::int64_t columns, products, right_size, out_size;
  const std::int64_t* offsets;  ///< number of columns that begin before each position; null: rows
                                ///< out are columns of the matrix
  std::int64_t* row_ids;        ///< of the rows of out, if `offsets` is set

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t i) const {
    if (!BeginsColumn{sorted.keys, matrix.columns}(i)) return;
    const auto id = sorted.keys[i], row = offsets ? offsets[i] : id;
    if (offsets && block.thread() == 0) row_ids[row] = id;
    for (std::int64_t j = block.thread(); j < columns * products; j += tenon::gpu::block_threads) {
      const auto product = j / columns, column = j - product * columns;
      const T* const from = right.data + product * right_size + column * right.column;
      T& to = out.data[product * out_size + row * out.row + column * out.column];
      T sum = to;
      for (auto e = i; e < matrix.nnz && sorted.keys[e] == id; ++e)
        sum += matrix.values[sorted.indices[e]] * from[row_of[sorted.indices[e]] * right.row];
      to = sum;
    }
  }
};

struct HasElements {
  const std::int64_t* row_starts;

  TENON_FN std::int64_t operator()(std::int64_t row) const {
    return row_starts[row + 1] > row_starts[row];
  }
};

/// Row indices of a row_sparse result: all rows, or the nonempty ones of the matrix.
struct ListRows {
  const std::int64_t *row_starts, *offsets;  ///< null: all rows
  std::int64_t* row_ids;

  TENON_FN void operator()(std::int64_t row) const {
    if (!offsets)
      row_ids[row] = row;
    else if (HasElements{row_starts}(row))
      row_ids[offsets[row]] = row;
  }
};

template <class T>
class MatmulOnDevice : ProductLayout<T> {
 public:
  MatmulOnDevice(const tenon::Call& call, int side, const bool (&transpose)[2],
                 device_spmm::Library& library)
      : ProductLayout<T>(call, side, transpose), call_(call), library_(library) {}

  void forward() const {
    run(this->transposed_, 0, call_.input<T>(this->right_ ? 0 : 1).data(), this->operand_view(),
        this->product_view());
  }

  /// operand' = rows^T * product'
  void operand_gradient() const {
    run(!this->transposed_, this->right_ ? 0 : 1, call_.output_grad<T>(0).data(),
        this->product_view(), this->operand_view());
  }

 private:
  using typename ProductLayout<T>::Layout;

  void run(bool transpose, int output, const T* right, Layout from, Layout to) const {
    if (call_.output_storage(output) != tenon::Storage::row_sparse) {
      T* const out =
          call_.backward() ? call_.input_grad<T>(output).data() : call_.output<T>(output).data();
      const bool add = call_.write(output) == tenon::Write::add;
      return transpose ? multiply_columns(right, from, out, to, add)
                       : multiply_rows(right, from, out, to, add, nullptr);
    }
    const auto shape =
        (call_.backward() ? call_.input_type(output) : call_.output_type(output)).shape;
    if (shape.rank() > 2) {  // the rows hold the batch
      const auto out = call_.allocate_row_sparse<T>(output, shape[0]);
      tenon::gpu::for_each(call_, shape[0], ListRows{nullptr, nullptr, out.row_ids});
      return transpose ? multiply_columns(right, from, out.values, to, false)
                       : multiply_rows(right, from, out.values, to, false, nullptr);
    }
    transpose ? put_columns(output, right, from, to) : put_rows(output, right, from, to);
  }

  void multiply_rows(const T* right, Layout from, T* out, Layout to, bool add,
                     const std::int64_t* row_map) const {
    rows_times_dense<T>(call_, library_,
                        {this->matrix_, from.at(right), to.at(out), this->columns_, add},
                        this->count_, row_map);
  }

  /// Stores the nonempty rows of the matrix.
  void put_rows(int output, const T* right, Layout from, Layout to) const {
    const auto& matrix = this->matrix_;
    const tenon::gpu::Scratch<std::int64_t> scratch(
        call_, matrix.rows + 1 + tenon::gpu::scan_scratch(matrix.rows));
    auto* const offsets = scratch.data();
    tenon::gpu::scan(call_, matrix.rows, HasElements{matrix.row_starts}, offsets,
                     offsets + matrix.rows + 1);
    const auto out =
        call_.allocate_row_sparse<T>(output, tenon::gpu::wait_for(call_, offsets + matrix.rows));
    tenon::gpu::for_each(call_, matrix.rows, ListRows{matrix.row_starts, offsets, out.row_ids});
    multiply_rows(right, from, out.values, to, false, offsets);
  }

  /// The matrix's values by column: sorted keys and positions in scratch memory, then the row of
  /// each.
  struct Columns {
    tenon::gpu::Scratch<std::int64_t> scratch;
    tenon::gpu::Sorted sorted;
    std::int64_t* row_of;

    Columns(const tenon::Call& call, const tenon::Csr<const T>& matrix)
        : scratch(call, matrix.nnz + tenon::gpu::sort_scratch(matrix.nnz, matrix.columns)),
          sorted(tenon::gpu::sort(call, matrix.nnz, ColumnOf<T>{matrix, tenon::gpu::Fault(call)},
                                  matrix.columns, scratch.data() + matrix.nnz)),
          row_of(scratch.data()) {
      tenon::gpu::for_each(call, matrix.nnz, RowOf{matrix.row_starts, matrix.rows, row_of});
    }
  };

  /// Does not use cuSPARSE, which is not deterministic for transposed matrices.
  void multiply_columns(const T* right, Layout from, T* out, Layout to, bool add) const {
    const auto out_size = this->matrix_.columns * this->columns_;
    if (!add)
      tenon::gpu::clear(call_, out, static_cast<std::size_t>(this->count_ * out_size) * sizeof(T));
    add_columns(Columns(call_, this->matrix_), right, from, to.at(out), out_size, nullptr, nullptr);
  }

  /// Stores the nonempty columns.
  void put_columns(int output, const T* right, Layout from, Layout to) const {
    const auto nnz = this->matrix_.nnz;
    const Columns columns(call_, this->matrix_);
    const tenon::gpu::Scratch<std::int64_t> scratch(call_, nnz + 1 + tenon::gpu::scan_scratch(nnz));
    auto* const offsets = scratch.data();
    tenon::gpu::scan(call_, nnz, BeginsColumn{columns.sorted.keys, this->matrix_.columns}, offsets,
                     offsets + nnz + 1);
    const auto count = tenon::gpu::wait_for(call_, offsets + nnz);
    const auto out = call_.allocate_row_sparse<T>(output, count);
    tenon::gpu::clear(call_, out.values,
                      static_cast<std::size_t>(count * this->columns_) * sizeof(T));
    add_columns(columns, right, from, to.at(out.values), 0, offsets, out.row_ids);
  }

  void add_columns(const Columns& columns, const T* right, Layout from, Dense<T> out,
                   std::int64_t out_size, const std::int64_t* offsets,
                   std::int64_t* row_ids) const {
    const auto& matrix = this->matrix_;
    tenon::gpu::for_each_block(
        call_, matrix.nnz,
        ColumnTimesDense<T>{matrix, columns.sorted, columns.row_of, from.at(right), out,
                            this->columns_, this->count_, matrix.rows * this->columns_, out_size,
                            offsets, row_ids});
  }

  const tenon::Call& call_;
  device_spmm::Library& library_;
};

}  // namespace sparse
