// layer_norm on the CPU.
#include "layer_norm.hpp"

#include <cmath>

#include "shared/store.hpp"
#include "shared/sum.hpp"

namespace {

template <class Body>
void for_each_row(const tenon::Call& call, LayerNorm::Rows rows, Body&& body) {
  call.parallel_for(rows.count, 1 + 8192 / (rows.size + 1), [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row) body(row, row * rows.size);
  });
}

template <class T>
void normalise(const LayerNorm& op, const tenon::Call& call) {
  const T *const data = call.input<T>("data").data(), *const gamma = call.input<T>("gamma").data(),
                 *const beta = call.input<T>("beta").data();
  T* const output = call.output<T>(0).data();
  Wide<T>*const means = hidden<T>(call, 1), *const inverse_stds = hidden<T>(call, 2);
  const auto rows = op.rows_of(call.input_type(0).shape);
  const auto n = static_cast<double>(rows.size);
  for_each_row(call, rows, [&](std::int64_t row, std::int64_t start) {
    const T* const x = data + start;
    const double mean = sum(rows.size, [&](std::int64_t i) { return Wide<T>(x[i]); }) / n;
    const double squares = sum(rows.size, [&](std::int64_t i) {
      const double difference = static_cast<double>(Wide<T>(x[i])) - mean;
      return difference * difference;
    });
    const auto centre = static_cast<Wide<T>>(mean), scale = static_cast<Wide<T>>(1 / std::sqrt(squares / n + op.epsilon));
    if (means) store(call.write(1), means[row], centre);
    if (inverse_stds) store(call.write(2), inverse_stds[row], scale);
    for (std::int64_t i = 0; i < rows.size; ++i)
      store(call.write(0), output[start + i], (Wide<T>(x[i]) - centre) * scale * Wide<T>(gamma[i]) + Wide<T>(beta[i]));
  });
}

template <class T>
void gradients(const LayerNorm& op, const tenon::Call& call) {
  const T *const data = call.input<T>("data").data(), *const output_grad = call.output_grad<T>(0).data();
  const auto means = call.output_value<Wide<T>>(1), inverse_stds = call.output_value<Wide<T>>(2);
  const auto rows = op.rows_of(call.input_type(0).shape);
  const auto normal = [&](std::int64_t row, std::int64_t i) {
    return (Wide<T>(data[row * rows.size + i]) - means[row]) * inverse_stds[row];
  };
  const auto grad = [&](std::int64_t row, std::int64_t i) { return Wide<T>(output_grad[row * rows.size + i]); };
  const auto put = [&](int input) {
    return [write = call.write(input), to = call.input_grad<T>(input)](std::int64_t i, double sum) {
      store(write, to[i], static_cast<Wide<T>>(sum));
    };
  };
  // Before data's gradient, which may lie where the output's gradient does.
  if (call.write(1) != tenon::Write::none)
    sum_columns(
        call, rows.count, rows.size, [&](std::int64_t row, std::int64_t i) { return grad(row, i) * normal(row, i); }, put(1));
  if (call.write(2) != tenon::Write::none) sum_columns(call, rows.count, rows.size, grad, put(2));
  if (call.write(0) == tenon::Write::none) return;

  const T* const gamma = call.input<T>("gamma").data();
  T* const dx = call.input_grad<T>(0).data();
  const auto n = static_cast<double>(rows.size);
  for_each_row(call, rows, [&](std::int64_t row, std::int64_t start) {
    const auto slope = [&](std::int64_t i) { return grad(row, i) * Wide<T>(gamma[i]); };
    const auto mean_slope = static_cast<Wide<T>>(sum(rows.size, slope) / n);
    const auto mean_slope_normal = static_cast<Wide<T>>(sum(rows.size, [&](std::int64_t i) { return slope(i) * normal(row, i); }) / n);
    for (std::int64_t i = 0; i < rows.size; ++i)
      store(call.write(0), dx[start + i], inverse_stds[row] * (slope(i) - mean_slope - normal(row, i) * mean_slope_normal));
  });
}

}  // namespace

void LayerNorm::forward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { normalise<T>(*this, call); });
}

void LayerNorm::backward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype, [&]<class T>() { gradients<T>(*this, call); });
}

TENON_OPERATOR(layer_norm, LayerNorm)
