// batch_norm on the CPU. One thread computes the sums of a channel, in an order that depends only
// on its size.
#include "batch_norm.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "shared/store_each.hpp"
#include "shared/sum.hpp"

namespace {

struct Statistics {
  double mean, variance;
};

/// Calls body(index of the first element) for each run of channels.inner contiguous elements of a
/// channel.
template <class Body>
void for_each_run(const Axis& channels, std::int64_t c, const Body& body) {
  for (std::int64_t outer = 0; outer < channels.outer; ++outer)
    body((outer * channels.length + c) * channels.inner);
}

template <class Term>
double sum_over(const Axis& channels, std::int64_t c, const Term& term) {
  double total = 0;
  for (std::int64_t outer = 0; outer < channels.outer; ++outer) {
    const auto first = (outer * channels.length + c) * channels.inner;
    total += sum(channels.inner, [=](std::int64_t i) { return term(first + i); });
  }
  return total;
}

std::int64_t grain(const Axis& channels) {
  return 1 + 8192 / (channels.runs() + 1);
}

/// The variance is the sum of squared differences from the mean; E[x^2] - E[x]^2 cancels if the
/// mean is large.
template <class T>
Statistics of_batch(const T* x, const Axis& channels, std::int64_t c) {
  return tenon::wide([=] {
    const auto n = static_cast<double>(channels.runs());
    const double mean = sum_over(channels, c, [=](std::int64_t i) { return Wide<T>(x[i]); }) / n;
    const double squares = sum_over(channels, c, [=](std::int64_t i) {
      const double difference = static_cast<double>(Wide<T>(x[i])) - mean;
      return difference * difference;
    });
    return Statistics{mean, squares / n};
  });
}

/// Moments of all channels at once, if they are contiguous.
template <class T>
std::vector<Statistics> of_columns(const tenon::Call& call, const T* x, const Axis& channels) {
  const auto width = channels.length;
  const auto n = static_cast<double>(channels.runs());
  std::vector<Statistics> found(static_cast<std::size_t>(width));
  auto* const to = found.data();
  sum_columns(
      call, channels.outer, width,
      [=](std::int64_t row, std::int64_t c) { return Wide<T>(x[row * width + c]); },
      [=](std::int64_t c, double sum) { to[c].mean = sum / n; });
  sum_columns(
      call, channels.outer, width,
      [=](std::int64_t row, std::int64_t c) {
        const double difference = static_cast<double>(Wide<T>(x[row * width + c])) - to[c].mean;
        return difference * difference;
      },
      [=](std::int64_t c, double sum) { to[c].variance = sum / n; });
  return found;
}

template <class S>
S blend(double momentum, S state, double batch) {
  return static_cast<S>(momentum * static_cast<double>(state) + (1 - momentum) * batch);
}

/// The channel axis in memory order; call.channels_last() moves the second dimension to the end.
Axis channels_of(const BatchNorm& op, const tenon::Call& call) {
  const auto shape = call.input_type(0).shape;
  if (call.backward() || !call.channels_last(0)) return Axis::of(shape, op.axis);
  auto lying = shape;
  for (int i = 1; i + 1 < shape.rank(); ++i) lying.set(i, shape[i + 1]);
  lying.set(shape.rank() - 1, shape[1]);
  const int axis = op.axis < 0 ? op.axis + shape.rank() : op.axis;
  return Axis::of(lying, axis == 0 ? 0 : axis == 1 ? shape.rank() - 1 : axis - 1);
}

/// The transformation of a channel's elements: (x - centre) * scale + offset.
template <class T>
struct Lines {
  std::vector<T> centre, scale, offset;
};

/// For contiguous channels, row by row: to[i] = value(c, i).
template <class T, class Value>
void put_rows(const tenon::Call& call, tenon::Write write, T* to, const Axis& channels,
              const Value& value) {
  const auto width = channels.length;
  call.parallel_for(channels.outer, 1 + 16384 / (width + 1),
                    [=](std::int64_t begin, std::int64_t end) {
                      tenon::wide([=] {
                        for (auto first = begin * width; first < end * width; first += width)
                          store_each(write, to + first, width,
                                     [=](std::int64_t c) { return value(c, first + c); });
                      });
                    });
}

/// For other layouts, the elements of one channel: to[i] = value(i).
template <class T, class Value>
void put_channel(tenon::Write write, T* to, const Axis& channels, std::int64_t c,
                 const Value& value) {
  tenon::wide([=] {
    for_each_run(channels, c, [=](std::int64_t first) {
      store_each(write, to + first, channels.inner,
                 [=](std::int64_t i) { return value(first + i); });
    });
  });
}

template <class T>
void normalise(const BatchNorm& op, const tenon::Call& call) {
  const T *const x = call.input<T>("data").data(), *const gamma = call.input<T>("gamma").data(),
                 *const beta = call.input<T>("beta").data();
  T* const y = call.output<T>(0).data();
  Wide<T>*const mean = hidden<T>(call, 1), *const inverse_std = hidden<T>(call, 2);
  const auto moving_mean = call.state<Wide<T>>("moving_mean"),
             moving_var = call.state<Wide<T>>("moving_var");
  const auto channels = channels_of(op, call);
  const bool from_batch = call.training() && channels.runs() > 0,
             by_rows = channels.inner == 1 && channels.length > 1;
  Lines<Wide<T>> lines;
  if (by_rows)
    for (auto* line : {&lines.centre, &lines.scale, &lines.offset})
      line->resize(static_cast<std::size_t>(channels.length));
  const auto of_rows =
      by_rows && from_batch ? of_columns(call, x, channels) : std::vector<Statistics>();
  call.parallel_for(channels.length, grain(channels), [&](std::int64_t begin, std::int64_t end) {
    for (auto c = begin; c < end; ++c) {
      const auto used = !of_rows.empty() ? of_rows[static_cast<std::size_t>(c)]
                        : from_batch     ? of_batch(x, channels, c)
                                         : Statistics{moving_mean[c], moving_var[c]};
      if (from_batch) {
        moving_mean[c] = blend(op.momentum, moving_mean[c], used.mean);
        moving_var[c] = blend(op.momentum, moving_var[c], used.variance);
      }
      const double inverse = 1 / std::sqrt(used.variance + op.epsilon);
      if (mean) store(call.write(1), mean[c], used.mean);
      if (inverse_std) store(call.write(2), inverse_std[c], inverse);
      const auto centre = static_cast<Wide<T>>(used.mean),
                 scale = static_cast<Wide<T>>(inverse) * Wide<T>(gamma[c]),
                 offset = Wide<T>(beta[c]);
      if (by_rows) {
        const auto at = static_cast<std::size_t>(c);
        lines.centre[at] = centre, lines.scale[at] = scale, lines.offset[at] = offset;
      } else {
        put_channel(call.write(0), y, channels, c,
                    [=](std::int64_t i) { return (Wide<T>(x[i]) - centre) * scale + offset; });
      }
    }
  });
  if (by_rows)
    put_rows(call, call.write(0), y, channels,
             [=, centre = lines.centre.data(), scale = lines.scale.data(),
              offset = lines.offset.data()](std::int64_t c, std::int64_t i) {
               return (Wide<T>(x[i]) - centre[c]) * scale[c] + offset[c];
             });
}

/// Sums of a channel: of its output gradients, and of each of these times the normalized element.
struct GradientSums {
  double dy, dy_normal;
};

template <class T>
void gradients(const BatchNorm& op, const tenon::Call& call) {
  using W = Wide<T>;
  const T *const x = call.input<T>("data").data(), *const dy = call.output_grad<T>(0).data(),
                 *const gamma = call.input<T>("gamma").data();
  const W *const mean = call.output_value<W>(1).data(), *const inverse_std =
                                                            call.output_value<W>(2).data();
  const auto channels = Axis::of(call.input_type(0).shape, op.axis);
  const auto width = channels.length;
  const bool by_rows = channels.inner == 1 && width > 1;
  T* const dx = call.write(0) == tenon::Write::none ? nullptr : call.input_grad<T>(0).data();
  T* const dgamma = call.write(1) == tenon::Write::none ? nullptr : call.input_grad<T>(1).data();
  T* const dbeta = call.write(2) == tenon::Write::none ? nullptr : call.input_grad<T>(2).data();
  std::vector<GradientSums> sums(by_rows ? static_cast<std::size_t>(width) : 0);
  if (by_rows) {
    auto* const to = sums.data();
    sum_columns(
        call, channels.outer, width,
        [=](std::int64_t row, std::int64_t c) { return W(dy[row * width + c]); },
        [=](std::int64_t c, double sum) { to[c].dy = sum; });
    sum_columns(
        call, channels.outer, width,
        [=](std::int64_t row, std::int64_t c) {
          return W(dy[row * width + c]) * ((W(x[row * width + c]) - mean[c]) * inverse_std[c]);
        },
        [=](std::int64_t c, double sum) { to[c].dy_normal = sum; });
  }
  // In training, each element also changes mean and variance; moving statistics are constant.
  const double n = call.training() ? static_cast<double>(channels.runs())
                                   : std::numeric_limits<double>::infinity();
  call.parallel_for(width, grain(channels), [&](std::int64_t begin, std::int64_t end) {
    for (auto c = begin; c < end; ++c) {
      const auto normal = [=, mean = mean[c], inverse_std = inverse_std[c]](std::int64_t i) {
        return (W(x[i]) - mean) * inverse_std;
      };
      const auto totals = by_rows ? sums[static_cast<std::size_t>(c)] : tenon::wide([=] {
        return GradientSums{
            sum_over(channels, c, [=](std::int64_t i) { return W(dy[i]); }),
            sum_over(channels, c, [=](std::int64_t i) { return W(dy[i]) * normal(i); })};
      });
      if (dgamma) store(call.write(1), dgamma[c], totals.dy_normal);
      if (dbeta) store(call.write(2), dbeta[c], totals.dy);
      if (!dx || by_rows) continue;
      const auto mean_dy = static_cast<W>(totals.dy / n),
                 mean_dy_normal = static_cast<W>(totals.dy_normal / n);
      const auto scale = W(gamma[c]) * inverse_std[c];
      put_channel(call.write(0), dx, channels, c, [=](std::int64_t i) {
        return scale * (W(dy[i]) - mean_dy - normal(i) * mean_dy_normal);
      });
    }
  });
  if (!dx || !by_rows) return;
  std::vector<W> mean_dy(sums.size()), mean_dy_normal(sums.size());
  for (std::size_t c = 0; c < sums.size(); ++c)
    mean_dy[c] = static_cast<W>(sums[c].dy / n),
    mean_dy_normal[c] = static_cast<W>(sums[c].dy_normal / n);
  put_rows(call, call.write(0), dx, channels,
           [=, mean_dy = mean_dy.data(), mean_dy_normal = mean_dy_normal.data()](std::int64_t c,
                                                                                 std::int64_t i) {
             const auto normal = (W(x[i]) - mean[c]) * inverse_std[c],
                        scale = W(gamma[c]) * inverse_std[c];
             return scale * (W(dy[i]) - mean_dy[c] - normal * mean_dy_normal[c]);
           });
}

}  // namespace

void BatchNorm::forward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype,
                                [&]<class T>() { normalise<T>(*this, call); });
}

void BatchNorm::backward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype,
                                [&]<class T>() { gradients<T>(*this, call); });
}

TENON_OPERATOR(batch_norm, BatchNorm)
