// det on the CPU.
#include "det.hpp"

#include <vector>

#include "shared/store.hpp"

struct Det : DetShapes {
  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>(0);
      const auto output = call.output<T>(0);
      const auto n = data.dim(-1);
      call.parallel_for(output.size(), 1 + 4096 / (1 + n * n * n),
                        [&](std::int64_t begin, std::int64_t end) {
                          std::vector<double> matrix(static_cast<std::size_t>(n * n));
                          for (auto i = begin; i < end; ++i) {
                            for (std::int64_t k = 0; k < n * n; ++k)
                              matrix[static_cast<std::size_t>(k)] =
                                  static_cast<double>(static_cast<Wide<T>>(data[i * n * n + k]));
                            output[i] = T(determinants::determinant(matrix.data(), n));
                          }
                        });
    });
  }

  /// The gradient is the matrix of cofactors, which exists for singular matrices, too.
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      using W = Wide<T>;
      const auto data = call.input<T>(0), dy = call.output_grad<T>(0);
      const auto dx = call.input_grad<T>(0);
      const auto n = data.dim(-1);
      call.parallel_for(
          dy.size(), 1 + 1024 / (1 + n * n * n), [&](std::int64_t begin, std::int64_t end) {
            std::vector<double> numbers(
                static_cast<std::size_t>(determinants::Cofactors::numbers(n)));
            std::vector<std::int64_t> indices(
                static_cast<std::size_t>(determinants::Cofactors::indices(n)));
            determinants::Cofactors cofactors(n, numbers.data(), indices.data());
            for (auto i = begin; i < end; ++i) {
              for (std::int64_t k = 0; k < n * n; ++k)
                cofactors.matrix[k] = static_cast<double>(static_cast<W>(data[i * n * n + k]));
              cofactors.compute();
              const auto slope = static_cast<double>(static_cast<W>(dy[i]));
              for (std::int64_t k = 0; k < n * n; ++k)
                dx[i * n * n + k] = T(slope * cofactors.found[k]);
            }
          });
    });
  }
};
TENON_OPERATOR(det, Det)
