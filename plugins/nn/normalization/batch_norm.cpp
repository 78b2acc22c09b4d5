// batch_norm on the CPU. A channel's sums are made by one thread, in an order that its size alone decides.
#include "batch_norm.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "shared/store.hpp"
#include "shared/sum.hpp"

namespace {

struct Statistics {
  double mean, variance;
};

template <class Body>
void for_each_element(const Axis& channels, std::int64_t c, Body&& body) {
  for (std::int64_t outer = 0; outer < channels.outer; ++outer) {
    const auto first = (outer * channels.length + c) * channels.inner;
    for (auto i = first; i < first + channels.inner; ++i) body(i);
  }
}

template <class Term>
double sum_over(const Axis& channels, std::int64_t c, Term&& term) {
  double total = 0;
  for (std::int64_t outer = 0; outer < channels.outer; ++outer) {
    const auto first = (outer * channels.length + c) * channels.inner;
    total += sum(channels.inner, [&](std::int64_t i) { return term(first + i); });
  }
  return total;
}

std::int64_t grain(const Axis& channels) {
  return 1 + 8192 / (channels.runs() + 1);
}

/// The variance is summed from differences to the mean: the textbook's short cut cancels where the mean is large.
template <class T>
Statistics of_batch(const T* x, const Axis& channels, std::int64_t c) {
  const auto n = static_cast<double>(channels.runs());
  const double mean = sum_over(channels, c, [&](std::int64_t i) { return Wide<T>(x[i]); }) / n;
  const double squares = sum_over(channels, c, [&](std::int64_t i) {
    const double difference = static_cast<double>(Wide<T>(x[i])) - mean;
    return difference * difference;
  });
  return {mean, squares / n};
}

template <class S>
S blend(double momentum, S state, double batch) {
  return static_cast<S>(momentum * static_cast<double>(state) + (1 - momentum) * batch);
}

/// The axis of the channels as data lies in memory; call.channels_last() moves the second dimension to the end.
Axis channels_of(const BatchNorm& op, const tenon::Call& call) {
  const auto shape = call.input_type(0).shape;
  if (call.backward() || !call.channels_last(0)) return Axis::of(shape, op.axis);
  auto lying = shape;
  for (int i = 1; i + 1 < shape.rank(); ++i) lying.set(i, shape[i + 1]);
  lying.set(shape.rank() - 1, shape[1]);
  const int axis = op.axis < 0 ? op.axis + shape.rank() : op.axis;
  return Axis::of(lying, axis == 0 ? 0 : axis == 1 ? shape.rank() - 1 : axis - 1);
}

/// What becomes of a channel's elements: (x - centre) * scale + offset.
template <class T>
struct Lines {
  std::vector<T> centre, scale, offset;
};

/// Channels that lie side by side, row by row.
template <class T>
void apply_to_rows(const tenon::Call& call, const T* x, T* y, const Axis& channels, const Lines<Wide<T>>& lines) {
  const auto width = channels.length, rows_at_once = 1 + 16384 / (width + 1);
  const auto write = call.write(0);
  const auto *const centre = lines.centre.data(), *const scale = lines.scale.data(), *const offset = lines.offset.data();
  call.parallel_for(channels.outer, rows_at_once, [=](std::int64_t begin, std::int64_t end) {
    if (write == tenon::Write::add) {
      for (auto row = begin; row < end; ++row)
        for (std::int64_t c = 0; c < width; ++c)
          store(write, y[row * width + c], (Wide<T>(x[row * width + c]) - centre[c]) * scale[c] + offset[c]);
    } else {
      tenon::wide([=] {
        for (auto row = begin; row < end; ++row)
          for (std::int64_t c = 0; c < width; ++c) {
            const auto i = row * width + c;
            y[i] = T((Wide<T>(x[i]) - centre[c]) * scale[c] + offset[c]);
          }
      });
    }
  });
}

template <class T>
void normalise(const BatchNorm& op, const tenon::Call& call) {
  const T *const x = call.input<T>("data").data(), *const gamma = call.input<T>("gamma").data(), *const beta = call.input<T>("beta").data();
  T* const y = call.output<T>(0).data();
  Wide<T>*const mean = hidden<T>(call, 1), *const inverse_std = hidden<T>(call, 2);
  const auto moving_mean = call.state<Wide<T>>("moving_mean"), moving_var = call.state<Wide<T>>("moving_var");
  const auto channels = channels_of(op, call);
  const bool from_batch = call.training() && channels.runs() > 0, by_rows = channels.inner == 1 && channels.length > 1;
  Lines<Wide<T>> lines;
  if (by_rows)
    for (auto* line : {&lines.centre, &lines.scale, &lines.offset}) line->resize(static_cast<std::size_t>(channels.length));
  call.parallel_for(channels.length, grain(channels), [&](std::int64_t begin, std::int64_t end) {
    for (auto c = begin; c < end; ++c) {
      const auto used = from_batch ? of_batch(x, channels, c) : Statistics{moving_mean[c], moving_var[c]};
      if (from_batch) {
        moving_mean[c] = blend(op.momentum, moving_mean[c], used.mean);
        moving_var[c] = blend(op.momentum, moving_var[c], used.variance);
      }
      const double inverse = 1 / std::sqrt(used.variance + op.epsilon);
      if (mean) store(call.write(1), mean[c], static_cast<Wide<T>>(used.mean));
      if (inverse_std) store(call.write(2), inverse_std[c], static_cast<Wide<T>>(inverse));
      const auto centre = static_cast<Wide<T>>(used.mean), scale = static_cast<Wide<T>>(inverse) * Wide<T>(gamma[c]),
                 offset = Wide<T>(beta[c]);
      if (by_rows) {
        const auto at = static_cast<std::size_t>(c);
        lines.centre[at] = centre, lines.scale[at] = scale, lines.offset[at] = offset;
      } else {
        for_each_element(channels, c, [&](std::int64_t i) { store(call.write(0), y[i], (Wide<T>(x[i]) - centre) * scale + offset); });
      }
    }
  });
  if (by_rows) apply_to_rows(call, x, y, channels, lines);
}

template <class T>
void gradients(const BatchNorm& op, const tenon::Call& call) {
  const T *const x = call.input<T>("data").data(), *const dy = call.output_grad<T>(0).data(), *const gamma = call.input<T>("gamma").data();
  const auto mean = call.output_value<Wide<T>>(1), inverse_std = call.output_value<Wide<T>>(2);
  const auto channels = Axis::of(call.input_type(0).shape, op.axis);
  T* const dx = call.write(0) == tenon::Write::none ? nullptr : call.input_grad<T>(0).data();
  T* const dgamma = call.write(1) == tenon::Write::none ? nullptr : call.input_grad<T>(1).data();
  T* const dbeta = call.write(2) == tenon::Write::none ? nullptr : call.input_grad<T>(2).data();
  call.parallel_for(channels.length, grain(channels), [&](std::int64_t begin, std::int64_t end) {
    for (auto c = begin; c < end; ++c) {
      const auto normal = [&](std::int64_t i) { return (Wide<T>(x[i]) - mean[c]) * inverse_std[c]; };
      const double sum_dy = sum_over(channels, c, [&](std::int64_t i) { return Wide<T>(dy[i]); });
      const double sum_dy_normal = sum_over(channels, c, [&](std::int64_t i) { return Wide<T>(dy[i]) * normal(i); });
      if (dgamma) store(call.write(1), dgamma[c], static_cast<Wide<T>>(sum_dy_normal));
      if (dbeta) store(call.write(2), dbeta[c], static_cast<Wide<T>>(sum_dy));
      if (!dx) continue;
      // In training, each element also moves the mean and the variance; the moving states stand still.
      const double n = call.training() ? static_cast<double>(channels.runs()) : std::numeric_limits<double>::infinity();
      const auto mean_dy = static_cast<Wide<T>>(sum_dy / n), mean_dy_normal = static_cast<Wide<T>>(sum_dy_normal / n);
      const auto scale = Wide<T>(gamma[c]) * inverse_std[c];
      for_each_element(channels, c, [&](std::int64_t i) {
        store(call.write(0), dx[i], scale * (Wide<T>(dy[i]) - mean_dy - normal(i) * mean_dy_normal));
      });
    }
  });
}

}  // namespace

void BatchNorm::forward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { normalise<T>(*this, call); });
}

void BatchNorm::backward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { gradients<T>(*this, call); });
}

TENON_OPERATOR(batch_norm, BatchNorm)
