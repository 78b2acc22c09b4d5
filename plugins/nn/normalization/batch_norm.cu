// batch_norm on CUDA: blocks compute the sums of each channel, in double as on the CPU; elements
// are normalized afterwards.
#include <cmath>
#include <limits>

#include "../../shared/offset_calculator.hpp"
#include "../../shared/rows.hpp"
#include "batch_norm.hpp"
#include "shared/block_sums.hpp"
#include "shared/store.hpp"

namespace {

/// Memory layout of channels. A row is `size` contiguous elements of one channel.
struct Channels {
  OffsetCalculator elements, of_row;
  std::int64_t size;

  explicit Channels(const Axis& axis) : size(axis.inner) {
    elements.push(axis.outer, axis.length * axis.inner);
    elements.push(axis.inner, 1);
    of_row.push(axis.outer, 0);
    of_row.push(axis.length, 1);
  }

  /// Element t of channel c.
  TENON_DEVICE std::int64_t index(std::int64_t c, std::int64_t t) const {
    return c * size + elements.offset(t);
  }
};

template <class T>
struct Element {
  const T* x;
  Channels channels;
  TENON_DEVICE double operator()(std::int64_t c, std::int64_t t) const {
    return Wide<T>(x[channels.index(c, t)]);
  }
};

/// The variance is the sum of squared differences from the mean; E[x^2] - E[x]^2 cancels if the
/// mean is large.
template <class T>
struct SquaredDifference {
  const T* x;
  Channels channels;
  const double* means;
  TENON_DEVICE double operator()(std::int64_t c, std::int64_t t) const {
    const double difference = static_cast<double>(Wide<T>(x[channels.index(c, t)])) - means[c];
    return difference * difference;
  }
};

struct PutAverage {
  double* averages;
  double n;
  TENON_DEVICE void operator()(std::int64_t c, double total) const { averages[c] = total / n; }
};

/// Computed once per channel: the moving statistics, and the values to subtract and to multiply by.
template <class S>
struct Channel {
  double *mean, *variance;  // of the batch in training; afterwards of the moving statistics
  S *moving_mean, *moving_var, *hidden_mean, *hidden_inverse;
  double momentum, epsilon;
  bool from_batch;
  tenon::Write write_mean, write_inverse;

  TENON_DEVICE void operator()(std::int64_t c) const {
    if (from_batch) {
      moving_mean[c] = blend(moving_mean[c], mean[c]);
      moving_var[c] = blend(moving_var[c], variance[c]);
    } else {
      mean[c] = moving_mean[c];
      variance[c] = moving_var[c];
    }
    variance[c] = 1 / std::sqrt(variance[c] + epsilon);
    if (hidden_mean) store(write_mean, hidden_mean[c], static_cast<S>(mean[c]));
    if (hidden_inverse) store(write_inverse, hidden_inverse[c], static_cast<S>(variance[c]));
  }

 private:
  TENON_DEVICE S blend(S state, double batch) const {
    return static_cast<S>(momentum * static_cast<double>(state) + (1 - momentum) * batch);
  }
};

template <class T>
struct Normalised {
  const T *x, *gamma, *beta;
  const double *mean, *inverse;
  Channels channels;
  T* y;
  tenon::Write write;

  TENON_DEVICE void operator()(std::int64_t row, std::int64_t first, std::int64_t step) const {
    const auto c = channels.of_row.offset(row);
    const auto centre = static_cast<Wide<T>>(mean[c]),
               scale = static_cast<Wide<T>>(inverse[c]) * Wide<T>(gamma[c]),
               shift = Wide<T>(beta[c]);
    for (auto i = row * channels.size + first, end = (row + 1) * channels.size; i < end; i += step)
      store(write, y[i], (Wide<T>(x[i]) - centre) * scale + shift);
  }
};

template <class T>
struct GradientTerms {
  const T *x, *dy;
  const Wide<T>*mean, *inverse_std;
  Channels channels;

  TENON_DEVICE TwoSums operator()(std::int64_t c, std::int64_t t) const {
    const auto i = channels.index(c, t);
    const auto grad = Wide<T>(dy[i]);
    return {grad, grad * ((Wide<T>(x[i]) - mean[c]) * inverse_std[c])};
  }
};

/// The gradients of gamma and beta, null if not requested, and the averages that data's gradient
/// needs.
template <class T>
struct PutGradients {
  T *dgamma, *dbeta;
  TwoSums* averages;
  double n;
  tenon::Write write_gamma, write_beta;

  TENON_DEVICE void operator()(std::int64_t c, const TwoSums& total) const {
    if (dgamma) store(write_gamma, dgamma[c], total.second);
    if (dbeta) store(write_beta, dbeta[c], total.first);
    averages[c] = {total.first / n, total.second / n};
  }
};

template <class T>
struct DataGradient {
  const T *x, *dy, *gamma;
  const Wide<T>*mean, *inverse_std;
  const TwoSums* averages;
  Channels channels;
  T* dx;
  tenon::Write write;

  TENON_DEVICE void operator()(std::int64_t row, std::int64_t first, std::int64_t step) const {
    const auto c = channels.of_row.offset(row);
    const auto centre = mean[c], inverse = inverse_std[c], scale = Wide<T>(gamma[c]) * inverse;
    const auto mean_dy = static_cast<Wide<T>>(averages[c].first),
               mean_dy_normal = static_cast<Wide<T>>(averages[c].second);
    for (auto i = row * channels.size + first, end = (row + 1) * channels.size; i < end;
         i += step) {
      const auto normal = (Wide<T>(x[i]) - centre) * inverse;
      store(write, dx[i], scale * (Wide<T>(dy[i]) - mean_dy - normal * mean_dy_normal));
    }
  }
};

}  // namespace

struct BatchNormCuda : BatchNorm {
  static constexpr bool capturable = true;

  /// Mean and variance of each channel, then partial sums.
  std::size_t workspace(const tenon::Infer& io) const {
    return bytes<double>(Axis::of(io.input(0).shape, axis), 2 * sizeof(double));
  }
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return bytes<TwoSums>(Axis::of(io.input(0).shape, axis), sizeof(TwoSums));
  }

  void forward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { normalise<T>(call); });
  }
  void backward(const tenon::Call& call) const {
    tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { gradients<T>(call); });
  }

 private:
  template <class Value>
  static std::size_t bytes(const Axis& channels, std::size_t each) {
    return static_cast<std::size_t>(channels.length) * each +
           BlockSums::of(channels.length, channels.runs()).bytes<Value>();
  }

  template <class T>
  void normalise(const tenon::Call& call) const {
    using S = Wide<T>;
    const auto x = call.input<T>("data");
    const auto channels = Axis::of(x.shape(), axis);
    const Channels where(channels);
    const BlockSums sums = BlockSums::of(channels.length, channels.runs());
    double* const mean =
        call.workspace<double>(bytes<double>(channels, 2 * sizeof(double)) / sizeof(double));
    double* const variance = mean + channels.length;
    const bool from_batch = call.training() && channels.runs() > 0;
    if (from_batch) {
      const auto n = static_cast<double>(channels.runs());
      double* const scratch = variance + channels.length;
      sum_by_blocks(call, sums, Element<T>{x.data(), where}, PutAverage{mean, n}, scratch);
      sum_by_blocks(call, sums, SquaredDifference<T>{x.data(), where, mean},
                    PutAverage{variance, n}, scratch);
    }
    const Channel<S> once{mean,
                          variance,
                          call.state<S>("moving_mean").data(),
                          call.state<S>("moving_var").data(),
                          hidden<T>(call, 1),
                          hidden<T>(call, 2),
                          momentum,
                          epsilon,
                          from_batch,
                          call.write(1),
                          call.write(2)};
    tenon::gpu::for_each(call, channels.length, once);
    const Normalised<T> each{x.data(),
                             call.input<T>("gamma").data(),
                             call.input<T>("beta").data(),
                             mean,
                             variance,
                             where,
                             call.output<T>(0).data(),
                             call.write(0)};
    for_each_row(call, channels.outer * channels.length, channels.inner, each);
  }

  template <class T>
  void gradients(const tenon::Call& call) const {
    const T *const x = call.input<T>("data").data(), *const dy = call.output_grad<T>(0).data();
    const auto *const mean = call.output_value<Wide<T>>(1).data(), *const inverse_std =
                                                                       call.output_value<Wide<T>>(2)
                                                                           .data();
    const auto channels = Axis::of(call.input_type(0).shape, axis);
    const Channels where(channels);
    const auto grad_or_null = [&](int i) {
      return call.write(i) == tenon::Write::none ? nullptr : call.input_grad<T>(i).data();
    };
    auto* const averages =
        call.workspace<TwoSums>(bytes<TwoSums>(channels, sizeof(TwoSums)) / sizeof(TwoSums));
    // In training, each element also changes mean and variance; moving statistics are constant.
    const double n = call.training() ? static_cast<double>(channels.runs())
                                     : std::numeric_limits<double>::infinity();
    const PutGradients<T> put{grad_or_null(1), grad_or_null(2), averages, n,
                              call.write(1),   call.write(2)};
    sum_by_blocks(call, BlockSums::of(channels.length, channels.runs()),
                  GradientTerms<T>{x, dy, mean, inverse_std, where}, put,
                  averages + channels.length);
    T* const dx = grad_or_null(0);
    if (!dx) return;
    const DataGradient<T> each{x,     dy,          call.input<T>("gamma").data(),
                               mean,  inverse_std, averages,
                               where, dx,          call.write(0)};
    for_each_row(call, channels.outer * channels.length, channels.inner, each);
  }
};
TENON_KERNEL(batch_norm, cuda, BatchNormCuda)
