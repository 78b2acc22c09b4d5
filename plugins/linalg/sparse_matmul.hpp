// matmul with one csr and one dense side on the CPU: forward, and the gradient of the dense side.
#pragma once
#include "sparse_product.hpp"
#include "transposed_product.hpp"

namespace sparse {

template <class T>
class Matmul : ProductLayout<T> {
 public:
  Matmul(const tenon::Call& call, int side, const bool (&transpose)[2])
      : ProductLayout<T>(call, side, transpose), call_(call) {}

  void forward() const {
    run(transposed_, 0, call_.input<T>(right_ ? 0 : 1).data(), operand_view(), product_view());
  }

  /// operand' = rows^T * product'
  void operand_gradient() const {
    run(!transposed_, right_ ? 0 : 1, call_.output_grad<T>(0).data(), product_view(),
        operand_view());
  }

 private:
  using typename ProductLayout<T>::Layout;
  using ProductLayout<T>::matrix_, ProductLayout<T>::right_, ProductLayout<T>::transposed_;
  using ProductLayout<T>::columns_, ProductLayout<T>::count_, ProductLayout<T>::operand_view,
      ProductLayout<T>::product_view;

  /// output = rows (or their transpose) * right, one product for each member of the batch. Of a
  /// row_sparse output, only the rows to which something is added are stored; all of them if they
  /// hold the batch.
  void run(bool transpose, int output, const T* right, Layout from, Layout to) const {
    const auto total = transpose ? matrix_.columns : matrix_.rows,
               inner = transpose ? matrix_.rows : matrix_.columns;
    if (call_.output_storage(output) == tenon::Storage::row_sparse)
      return run_row_sparse(transpose, output, right, from, to);
    T* const out =
        call_.backward() ? call_.input_grad<T>(output).data() : call_.output<T>(output).data();
    multiply_all(transpose, total, inner, right, from, out, to);
  }

  void multiply_all(bool transpose, std::int64_t total, std::int64_t inner, const T* right,
                    Layout from, T* out, Layout to) const {
    if (transpose && by_strips(from, to)) {
      for (std::int64_t i = 0; i < count_; ++i)
        multiply_transposed<T>(call_, matrix_, right + i * inner * columns_, from.row, columns_,
                               out + i * total * columns_, total, nullptr);
      return;
    }
    if (!transpose && whole_rows(from, to)) {
      for (std::int64_t i = 0; i < count_; ++i)
        multiply_csr<T>(call_, matrix_, right + i * inner * columns_, from.row, columns_,
                        out + i * total * columns_);
      return;
    }
    const auto rows = rows_of(call_, matrix_, transpose);
    for (std::int64_t i = 0; i < count_; ++i)
      multiply<T>(call_, rows, from.at(right + i * inner * columns_), columns_,
                  to.at(out + i * total * columns_));
  }

  void run_row_sparse(bool transpose, int output, const T* right, Layout from, Layout to) const {
    const auto shape =
        (call_.backward() ? call_.input_type(output) : call_.output_type(output)).shape;
    if (shape.rank() > 2) {
      const auto out = call_.allocate_row_sparse<T>(output, shape[0]);
      std::iota(out.row_ids, out.row_ids + shape[0], 0);
      return multiply_all(transpose, transpose ? matrix_.columns : matrix_.rows,
                          transpose ? matrix_.rows : matrix_.columns, right, from, out.values, to);
    }
    if (transpose && by_strips(from, to)) {
      const auto used = columns_used(call_, matrix_);
      const auto out =
          call_.allocate_row_sparse<T>(output, static_cast<std::int64_t>(used.ids.size()));
      std::copy(used.ids.begin(), used.ids.end(), out.row_ids);
      return multiply_transposed<T>(call_, matrix_, right, from.row, columns_, out.values,
                                    static_cast<std::int64_t>(used.ids.size()),
                                    used.indices.data());
    }
    const auto rows = rows_of(call_, matrix_, transpose);
    const auto out = call_.allocate_row_sparse<T>(output, rows.count());
    std::copy(rows.ids.begin(), rows.ids.end(), out.row_ids);
    multiply<T>(call_, compact(rows), from.at(right), columns_, to.at(out.values));
  }

  /// Whether the rows of both dense sides are contiguous.
  bool whole_rows(Layout from, Layout to) const {
    return (columns_ == 1 || (from.column == 1 && to.column == 1)) && to.row == columns_;
  }
  /// Also whether there are enough values that time and memory proportional to the number of
  /// columns are acceptable.
  bool by_strips(Layout from, Layout to) const {
    return whole_rows(from, to) && !mostly_empty(matrix_) && fits_strips(matrix_);
  }

  const tenon::Call& call_;
};

}  // namespace sparse
