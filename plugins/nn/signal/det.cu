// The CUDA kernel of det: one thread for each matrix.
#include <tenon/gpu/launch.hpp>

#include "det.hpp"
#include "shared/store.hpp"

namespace {

template <class T>
struct Determinant {
  std::int64_t n;
  const T* data;
  double* memory;
  T* output;

  TENON_FN void operator()(std::int64_t i) const {
    double* const matrix = memory + i * n * n;
    for (std::int64_t k = 0; k < n * n; ++k)
      matrix[k] = static_cast<double>(static_cast<Wide<T>>(data[i * n * n + k]));
    output[i] = T(determinants::determinant(matrix, n));
  }
};

template <class T>
struct DeterminantBack {
  std::int64_t n;
  const T *data, *dy;
  double* numbers;
  std::int64_t* indices;
  T* dx;

  TENON_FN void operator()(std::int64_t i) const {
    using determinants::Cofactors;
    Cofactors cofactors(n, numbers + i * Cofactors::numbers(n),
                        indices + i * Cofactors::indices(n));
    for (std::int64_t k = 0; k < n * n; ++k)
      cofactors.matrix[k] = static_cast<double>(static_cast<Wide<T>>(data[i * n * n + k]));
    cofactors.compute();
    const auto slope = static_cast<double>(static_cast<Wide<T>>(dy[i]));
    for (std::int64_t k = 0; k < n * n; ++k) dx[i * n * n + k] = T(slope * cofactors.found[k]);
  }
};

}  // namespace

struct DetCuda : DetShapes {
  static constexpr bool capturable = true;

  /// Large matrices, which would occupy a single thread for long, run on the CPU.
  bool supports(const tenon::Infer& types) const {
    const auto data = types.input(0).shape;
    return !data.known() || data.rank() < 2 || data[-1] <= 64;
  }

  std::size_t workspace(const tenon::Infer& io) const {
    return static_cast<std::size_t>(io.input(0).shape.size()) * sizeof(double);
  }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    using determinants::Cofactors;
    const auto n = io.input(0).shape[-1];
    return static_cast<std::size_t>(io.output(0).shape.size() *
                                    (Cofactors::numbers(n) + Cofactors::indices(n))) *
           sizeof(double);
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>(0);
      double* const memory = call.workspace<double>(static_cast<std::size_t>(data.size()));
      tenon::gpu::for_each(
          call, call.output_type(0).shape.size(),
          Determinant<T>{data.dim(-1), data.data(), memory, call.output<T>(0).data()});
    });
  }

  void backward(const tenon::Call& call) const {
    using determinants::Cofactors;
    if (call.write(0) == tenon::Write::none) return;
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto data = call.input<T>(0), dy = call.output_grad<T>(0);
      const auto n = data.dim(-1), numbers = dy.size() * Cofactors::numbers(n),
                 indices = dy.size() * Cofactors::indices(n);
      std::byte* const memory =
          call.workspace<std::byte>(static_cast<std::size_t>(numbers + indices) * sizeof(double));
      tenon::gpu::for_each(
          call, dy.size(),
          DeterminantBack<T>{n, data.data(), dy.data(), reinterpret_cast<double*>(memory),
                             reinterpret_cast<std::int64_t*>(
                                 memory + static_cast<std::size_t>(numbers) * sizeof(double)),
                             call.input_grad<T>(0).data()});
    });
  }
};
TENON_KERNEL(det, cuda, DetCuda)
