// layer_norm on CUDA.
#include <cmath>

#include "layer_norm.hpp"
#include "shared/column_sums.hpp"
#include "shared/store_sum.hpp"
#include "shared/thread_group.hpp"

namespace {

/// Statistics are null if not requested.
template <class T>
struct NormalisedRow {
  const T *data, *gamma, *beta;
  T* output;
  Wide<T>*means, *inverse_stds;
  std::int64_t size;
  double epsilon;
  tenon::Write write, write_mean, write_inverse;

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t row) const {
    const T* const x = data + row * size;
    const auto n = static_cast<double>(size);
    double total = 0, squares = 0;
    for (std::int64_t i = threads.thread(); i < size; i += group_size<ThreadGroup>)
      total += static_cast<double>(Wide<T>(x[i]));
    const double mean = threads.sum(total) / n;
    for (std::int64_t i = threads.thread(); i < size; i += group_size<ThreadGroup>) {
      const double difference = static_cast<double>(Wide<T>(x[i])) - mean;
      squares += difference * difference;
    }
    squares = threads.sum(squares);
    const auto centre = static_cast<Wide<T>>(mean),
               scale = static_cast<Wide<T>>(1 / std::sqrt(squares / n + epsilon));
    if (means && threads.thread() == 0) store(write_mean, means[row], centre);
    if (inverse_stds && threads.thread() == 0) store(write_inverse, inverse_stds[row], scale);
    for (std::int64_t i = threads.thread(); i < size; i += group_size<ThreadGroup>)
      store(write, output[row * size + i],
            (Wide<T>(x[i]) - centre) * scale * Wide<T>(gamma[i]) + Wide<T>(beta[i]));
  }
};

/// Inputs of backward.
template <class T>
struct Backward {
  const T *data, *output_grad;
  const Wide<T>*means, *inverse_stds;
  std::int64_t size;

  TENON_DEVICE Wide<T> grad(std::int64_t row, std::int64_t i) const {
    return Wide<T>(output_grad[row * size + i]);
  }
  TENON_DEVICE Wide<T> normal(std::int64_t row, std::int64_t i) const {
    return (Wide<T>(data[row * size + i]) - means[row]) * inverse_stds[row];
  }
};

template <class T>
struct GammaTerm {
  Backward<T> from;
  TENON_DEVICE Wide<T> operator()(std::int64_t row, std::int64_t i) const {
    return from.grad(row, i) * from.normal(row, i);
  }
};

template <class T>
struct BetaTerm {
  Backward<T> from;
  TENON_DEVICE Wide<T> operator()(std::int64_t row, std::int64_t i) const {
    return from.grad(row, i);
  }
};

template <class T>
struct DataGradientRow {
  Backward<T> from;
  const T* gamma;
  T* dx;
  tenon::Write write;

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t row) const {
    double slopes = 0, slopes_normal = 0;
    for (std::int64_t i = threads.thread(); i < from.size; i += group_size<ThreadGroup>) {
      slopes += static_cast<double>(slope(row, i));
      slopes_normal += static_cast<double>(slope(row, i) * from.normal(row, i));
    }
    const auto n = static_cast<double>(from.size);
    const auto mean_slope = static_cast<Wide<T>>(threads.sum(slopes) / n);
    const auto mean_slope_normal = static_cast<Wide<T>>(threads.sum(slopes_normal) / n);
    for (std::int64_t i = threads.thread(); i < from.size; i += group_size<ThreadGroup>)
      store(write, dx[row * from.size + i],
            from.inverse_stds[row] *
                (slope(row, i) - mean_slope - from.normal(row, i) * mean_slope_normal));
  }

 private:
  TENON_DEVICE Wide<T> slope(std::int64_t row, std::int64_t i) const {
    return from.grad(row, i) * Wide<T>(gamma[i]);
  }
};

}  // namespace

struct LayerNormCuda : LayerNorm {
  static constexpr bool capturable = true;

  std::size_t backward_workspace(const tenon::Infer& io) const {
    const auto rows = rows_of(io.input(0).shape);
    return ColumnSums::of(rows.count, rows.size).bytes();
  }

  void forward(const tenon::Call& call) const {
    const auto rows = rows_of(call.input_type(0).shape);
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() {
      const NormalisedRow<T> body{call.input<T>("data").data(),
                                  call.input<T>("gamma").data(),
                                  call.input<T>("beta").data(),
                                  call.output<T>(0).data(),
                                  hidden<T>(call, 1),
                                  hidden<T>(call, 2),
                                  rows.size,
                                  epsilon,
                                  call.write(0),
                                  call.write(1),
                                  call.write(2)};
      for_each_group(call, rows.count, rows.size, false, body);
    });
  }

  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { gradients<T>(call); });
  }

 private:
  template <class T>
  void gradients(const tenon::Call& call) const {
    const auto rows = rows_of(call.input_type(0).shape);
    const Backward<T> from{call.input<T>("data").data(), call.output_grad<T>(0).data(),
                           call.output_value<Wide<T>>(1).data(),
                           call.output_value<Wide<T>>(2).data(), rows.size};
    const ColumnSums sums = ColumnSums::of(rows.count, rows.size);
    double* const scratch = call.workspace<double>(sums.bytes() / sizeof(double));
    // Computed before data's gradient, which may share memory with the output's gradient.
    if (call.write(1) != tenon::Write::none)
      sum_columns(call, sums, GammaTerm<T>{from},
                  StoreSum<T>{call.input_grad<T>(1).data(), call.write(1)}, scratch);
    if (call.write(2) != tenon::Write::none)
      sum_columns(call, sums, BetaTerm<T>{from},
                  StoreSum<T>{call.input_grad<T>(2).data(), call.write(2)}, scratch);
    if (call.write(0) == tenon::Write::none) return;
    const DataGradientRow<T> body{from, call.input<T>("gamma").data(), call.input_grad<T>(0).data(),
                                  call.write(0)};
    for_each_group(call, rows.count, rows.size, false, body);
  }
};
TENON_KERNEL(layer_norm, cuda, LayerNormCuda)
