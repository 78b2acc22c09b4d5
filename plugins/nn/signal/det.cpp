// det: determinants of matrices, by elimination in double.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tenon/operator.hpp>
#include <vector>

#include "shared/store.hpp"

struct Det : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("determinant of each matrix of the last two axes");
    op.input("data", "[any axes ..., n, n]");
    op.output("output", "data's shape before the last two axes");
    op.example({{"data", {2, 3, 3}}});
    op.onnx("", "Det").since(11);
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data").shape;
    if (!data.has_rank()) return;
    io.require(data.rank() >= 2 && (data[-1] == data[-2] || data[-1] == tenon::unknown || data[-2] == tenon::unknown), "data is ", data,
               " but needs square matrices");
    io.set_output(0, tenon::Shape(data.begin(), data.rank() - 2));
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>(0);
      const auto output = call.output<T>(0);
      const auto n = data.dim(-1);
      call.parallel_for(output.size(), 1 + 4096 / (1 + n * n * n), [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> matrix(static_cast<std::size_t>(n * n));
        for (auto i = begin; i < end; ++i) {
          for (std::int64_t k = 0; k < n * n; ++k)
            matrix[static_cast<std::size_t>(k)] = static_cast<double>(static_cast<Wide<T>>(data[i * n * n + k]));
          output[i] = T(static_cast<Wide<T>>(determinant(matrix.data(), n)));
        }
      });
    });
  }

  /// The gradient is the matrix of cofactors, which singular matrices have, too.
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const auto data = call.input<T>(0), dy = call.output_grad<T>(0);
      const auto dx = call.input_grad<T>(0);
      const auto n = data.dim(-1);
      call.parallel_for(dy.size(), 1 + 1024 / (1 + n * n * n), [&](std::int64_t begin, std::int64_t end) {
        Cofactors cofactors(n);
        for (auto i = begin; i < end; ++i) {
          for (std::int64_t k = 0; k < n * n; ++k)
            cofactors.matrix[static_cast<std::size_t>(k)] = static_cast<double>(static_cast<W>(data[i * n * n + k]));
          cofactors.compute();
          const auto slope = static_cast<double>(static_cast<W>(dy[i]));
          for (std::int64_t k = 0; k < n * n; ++k)
            dx[i * n * n + k] = T(static_cast<W>(slope * cofactors.found[static_cast<std::size_t>(k)]));
        }
      });
    });
  }

 private:
  /// With rows and columns in another order, the matrix is L D U, where L and U have ones on their diagonals and D has nothing else. Its
  /// cofactors are those of D, which are products of the other elements, times the inverses of L and U, transposed: no pivot divides them.
  struct Cofactors {
    explicit Cofactors(std::int64_t size)
        : n(size), matrix(count()), found(count()), lower(count()), upper(count()), rows(at(n)), columns(at(n)), others(at(n)) {}

    void compute() {
      decompose();
      invert();
      std::fill(others.begin(), others.end(), sign);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = 0; k < n; ++k)
          if (k != i) others[at(k)] *= matrix[at(i * n + i)];
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (auto k = std::max(i, j); k < n; ++k) sum += lower[at(k * n + i)] * others[at(k)] * upper[at(j * n + k)];
          found[at(rows[at(i)] * n + columns[at(j)])] = sum;
        }
    }

    const std::int64_t n;
    std::vector<double> matrix, found;

   private:
    static std::size_t at(std::int64_t place) { return static_cast<std::size_t>(place); }
    std::size_t count() const { return at(n * n); }

    // The largest element that is left comes to the diagonal. Where that is 0, all are.
    void decompose() {
      std::iota(rows.begin(), rows.end(), 0);
      std::iota(columns.begin(), columns.end(), 0);
      sign = 1;
      for (std::int64_t step = 0; step < n; ++step) {
        auto row = step, column = step;
        for (auto i = step; i < n; ++i)
          for (auto j = step; j < n; ++j)
            if (std::abs(matrix[at(i * n + j)]) > std::abs(matrix[at(row * n + column)])) row = i, column = j;
        if (row != step) {
          for (std::int64_t k = 0; k < n; ++k) std::swap(matrix[at(row * n + k)], matrix[at(step * n + k)]);
          std::swap(rows[at(row)], rows[at(step)]), sign = -sign;
        }
        if (column != step) {
          for (std::int64_t k = 0; k < n; ++k) std::swap(matrix[at(k * n + column)], matrix[at(k * n + step)]);
          std::swap(columns[at(column)], columns[at(step)]), sign = -sign;
        }
        const double head = matrix[at(step * n + step)];
        if (head == 0) return;
        for (auto i = step + 1; i < n; ++i) {
          const double factor = matrix[at(i * n + step)] /= head;
          for (auto k = step + 1; k < n; ++k) matrix[at(i * n + k)] -= factor * matrix[at(step * n + k)];
        }
        for (auto k = step + 1; k < n; ++k) matrix[at(step * n + k)] /= head;
      }
    }

    // Of both triangles, column by column and row by row.
    void invert() {
      std::fill(lower.begin(), lower.end(), 0.0);
      std::fill(upper.begin(), upper.end(), 0.0);
      for (std::int64_t k = 0; k < n; ++k) {
        lower[at(k * n + k)] = upper[at(k * n + k)] = 1;
        for (auto i = k + 1; i < n; ++i)
          for (auto j = k; j < i; ++j) {
            lower[at(i * n + k)] -= matrix[at(i * n + j)] * lower[at(j * n + k)];
            upper[at(k * n + i)] -= upper[at(k * n + j)] * matrix[at(j * n + i)];
          }
      }
    }

    double sign = 1;
    std::vector<double> lower, upper;
    std::vector<std::int64_t> rows, columns;
    std::vector<double> others;
  };

  static double determinant(double* matrix, std::int64_t n) {
    double product = 1;
    for (std::int64_t column = 0; column < n; ++column) {
      auto pivot = column;
      for (auto row = column + 1; row < n; ++row)
        if (std::abs(matrix[row * n + column]) > std::abs(matrix[pivot * n + column])) pivot = row;
      if (pivot != column) {
        for (auto k = column; k < n; ++k) std::swap(matrix[pivot * n + k], matrix[column * n + k]);
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
};
TENON_OPERATOR(det, Det)
