// det for all devices: determinants by elimination in double.
#pragma once
#include <cmath>
#include <tenon/operator.hpp>

namespace determinants {

template <class T>
TENON_FN void exchange(T& left, T& right) {
  const T saved = left;
  left = right;
  right = saved;
}

/// The determinant of a matrix [n, n], which is overwritten.
TENON_FN inline double determinant(double* matrix, std::int64_t n) {
  double product = 1;
  for (std::int64_t column = 0; column < n; ++column) {
    auto pivot = column;
    for (auto row = column + 1; row < n; ++row)
      if (std::abs(matrix[row * n + column]) > std::abs(matrix[pivot * n + column])) pivot = row;
    if (pivot != column) {
      for (auto k = column; k < n; ++k) exchange(matrix[pivot * n + k], matrix[column * n + k]);
      product = -product;
    }
    const double head = matrix[column * n + column];
    product *= head;
    if (head == 0) return product;
    for (auto row = column + 1; row < n; ++row) {
      const double factor = matrix[row * n + column] / head;
      for (auto k = column + 1; k < n; ++k) matrix[row * n + k] -= factor * matrix[column * n + k];
    }
  }
  return product;
}

/// After permutation of rows and columns, the matrix is L D U with unit triangular L and U and
/// diagonal D. Its cofactors are those of D, which are products of the other diagonal elements,
/// times the transposed inverses of L and U: nothing is divided by a pivot.
class Cofactors {
 public:
  /// Number of scratch elements for a matrix [n, n].
  TENON_FN static std::int64_t numbers(std::int64_t n) { return 4 * n * n + n; }
  TENON_FN static std::int64_t indices(std::int64_t n) { return 2 * n; }

  TENON_FN Cofactors(std::int64_t n, double* numbers, std::int64_t* indices)
      : matrix(numbers),
        found(matrix + n * n),
        n_(n),
        lower_(found + n * n),
        upper_(lower_ + n * n),
        others_(upper_ + n * n),
        rows_(indices),
        columns_(indices + n) {}

  /// Computes `found` from `matrix`, which is overwritten.
  TENON_FN void compute() {
    decompose();
    invert();
    for (std::int64_t i = 0; i < n_; ++i) {
      others_[i] = sign_;
      for (std::int64_t k = 0; k < n_; ++k)
        if (k != i) others_[i] *= matrix[k * n_ + k];
    }
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) {
        double sum = 0;
        for (auto k = i > j ? i : j; k < n_; ++k)
          sum += lower_[k * n_ + i] * others_[k] * upper_[j * n_ + k];
        found[rows_[i] * n_ + columns_[j]] = sum;
      }
  }

  double *const matrix, *const found;

 private:
  // The largest remaining element becomes the pivot. If it is 0, all remaining elements are.
  TENON_FN void decompose() {
    for (std::int64_t k = 0; k < n_; ++k) rows_[k] = columns_[k] = k;
    sign_ = 1;
    for (std::int64_t step = 0; step < n_; ++step) {
      auto row = step, column = step;
      for (auto i = step; i < n_; ++i)
        for (auto j = step; j < n_; ++j)
          if (std::abs(matrix[i * n_ + j]) > std::abs(matrix[row * n_ + column]))
            row = i, column = j;
      if (row != step) {
        for (std::int64_t k = 0; k < n_; ++k) exchange(matrix[row * n_ + k], matrix[step * n_ + k]);
        exchange(rows_[row], rows_[step]), sign_ = -sign_;
      }
      if (column != step) {
        for (std::int64_t k = 0; k < n_; ++k)
          exchange(matrix[k * n_ + column], matrix[k * n_ + step]);
        exchange(columns_[column], columns_[step]), sign_ = -sign_;
      }
      const double head = matrix[step * n_ + step];
      if (head == 0) return;
      for (auto i = step + 1; i < n_; ++i) {
        const double factor = matrix[i * n_ + step] /= head;
        for (auto k = step + 1; k < n_; ++k) matrix[i * n_ + k] -= factor * matrix[step * n_ + k];
      }
      for (auto k = step + 1; k < n_; ++k) matrix[step * n_ + k] /= head;
    }
  }

  // Inverts both triangles, column by column and row by row.
  TENON_FN void invert() {
    for (std::int64_t k = 0; k < n_ * n_; ++k) lower_[k] = upper_[k] = 0;
    for (std::int64_t k = 0; k < n_; ++k) {
      lower_[k * n_ + k] = upper_[k * n_ + k] = 1;
      for (auto i = k + 1; i < n_; ++i)
        for (auto j = k; j < i; ++j) {
          lower_[i * n_ + k] -= matrix[i * n_ + j] * lower_[j * n_ + k];
          upper_[k * n_ + i] -= upper_[k * n_ + j] * matrix[j * n_ + i];
        }
    }
  }

  std::int64_t n_;
  double *lower_, *upper_, *others_;
  std::int64_t *rows_, *columns_;
  double sign_ = 1;
};

}  // namespace determinants

struct DetShapes : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("determinant of each matrix [n, n] in the last two axes");
    op.input("data", "[..., n, n]");
    op.output("output", "[...], data's shape without the last two axes");
    op.example({{"data", {2, 3, 3}}});
    op.onnx("", "Det").since(11);
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data").shape;
    if (!data.has_rank()) return;
    io.require(data.rank() >= 2 && (data[-1] == data[-2] || data[-1] == tenon::unknown ||
                                    data[-2] == tenon::unknown),
               "data is ", data, " but needs square matrices");
    io.set_output(0, tenon::Shape(data.begin(), data.rank() - 2));
  }
};
