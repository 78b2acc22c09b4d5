// mean_squared_error on CUDA.
#include "mean_squared_error.hpp"
#include "shared/block_sums.hpp"
#include "shared/store_sum.hpp"

namespace {

template <class T>
struct Squares {
  const T *prediction, *target;

  TENON_DEVICE double operator()(std::int64_t, std::int64_t i) const { return at(i); }
  TENON_DEVICE Wide<T> at(std::int64_t i) const {
    const auto difference = Wide<T>(prediction[i]) - Wide<T>(target[i]);
    return difference * difference;
  }
};

template <class T>
struct ElementwiseSquares {
  Squares<T> squares;
  T* loss;
  tenon::Write write;
  TENON_DEVICE void operator()(std::int64_t i) const { store(write, loss[i], squares.at(i)); }
};

template <class T>
struct ErrorGradient {
  const T *prediction, *target, *dy;
  bool elementwise;  ///< one dy for each element
  Wide<T> scale;
  T* dx;
  tenon::Write write;

  TENON_DEVICE void operator()(std::int64_t i) const {
    store(write, dx[i],
          scale * (Wide<T>(prediction[i]) - Wide<T>(target[i])) * Wide<T>(dy[elementwise ? i : 0]));
  }
};

}  // namespace

struct MeanSquaredErrorCuda : MeanSquaredError {
  static constexpr bool capturable = true;

  std::size_t workspace(const tenon::Infer& io) const {
    return reduction == Reduction::none
               ? 0
               : BlockSums::of(1, io.input(0).shape.size()).bytes<double>();
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto prediction = call.input<T>(0);
      const Squares<T> squares{prediction.data(), call.input<T>(1).data()};
      T* const loss = call.output<T>(0).data();
      const auto n = prediction.size();
      if (reduction == Reduction::none)
        return tenon::gpu::for_each(call, n, ElementwiseSquares<T>{squares, loss, call.write(0)});
      const BlockSums sums = BlockSums::of(1, n);
      double* const scratch = call.workspace<double>(sums.bytes<double>() / sizeof(double));
      sum_by_blocks(call, sums, squares, StoreSum<T>{loss, call.write(0), weight(n)}, scratch);
    });
  }

  /// dprediction = 2 (prediction - target) dloss, and dtarget is its negative.
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const auto prediction = call.input<T>(0);
      for (const int input : {0, 1}) {
        if (call.write(input) == tenon::Write::none) continue;
        const auto scale = static_cast<Wide<T>>((input == 0 ? 2 : -2) * weight(prediction.size()));
        const ErrorGradient<T> body{prediction.data(),
                                    call.input<T>(1).data(),
                                    call.output_grad<T>(0).data(),
                                    reduction == Reduction::none,
                                    scale,
                                    call.input_grad<T>(input).data(),
                                    call.write(input)};
        tenon::gpu::for_each(call, prediction.size(), body);
      }
    });
  }
};
TENON_KERNEL(mean_squared_error, cuda, MeanSquaredErrorCuda)
