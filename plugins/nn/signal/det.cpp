// det: determinants of matrices, by elimination in double.
#include <cmath>
#include <tenon/operator.hpp>
#include <vector>

#include "shared/store.hpp"

struct Det : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("determinant of each matrix of the last two axes; it has no gradient");
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

 private:
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
