// layer_norm on the CPU.
#include "layer_norm.hpp"

#include <cmath>

#include "shared/store_each.hpp"
#include "shared/sum.hpp"

namespace {

/// Calls body(row, index of its first element) for each row, vectorized.
template <class Body>
void for_each_row(const tenon::Call& call, LayerNorm::Rows rows, const Body& body) {
  call.parallel_for(rows.count, 1 + 8192 / (rows.size + 1),
                    [=](std::int64_t begin, std::int64_t end) {
                      tenon::wide([=] {
                        for (auto row = begin; row < end; ++row) body(row, row * rows.size);
                      });
                    });
}

template <class T>
void normalise(const LayerNorm& op, const tenon::Call& call) {
  const T *const data = call.input<T>("data").data(), *const gamma = call.input<T>("gamma").data(),
                 *const beta = call.input<T>("beta").data();
  T* const output = call.output<T>(0).data();
  Wide<T>*const means = hidden<T>(call, 1), *const inverse_stds = hidden<T>(call, 2);
  const tenon::Write writes[] = {call.write(0), call.write(1), call.write(2)};
  const auto rows = op.rows_of(call.input_type(0).shape);
  for_each_row(call, rows,
               [=, size = rows.size, n = static_cast<double>(rows.size), epsilon = op.epsilon](
                   std::int64_t row, std::int64_t start) {
                 const T* const x = data + start;
                 const double mean = sum(size, [=](std::int64_t i) { return Wide<T>(x[i]); }) / n;
                 const double squares = sum(size, [=](std::int64_t i) {
                   const double difference = static_cast<double>(Wide<T>(x[i])) - mean;
                   return difference * difference;
                 });
                 const auto centre = static_cast<Wide<T>>(mean),
                            scale = static_cast<Wide<T>>(1 / std::sqrt(squares / n + epsilon));
                 if (means) store(writes[1], means[row], centre);
                 if (inverse_stds) store(writes[2], inverse_stds[row], scale);
                 store_each(writes[0], output + start, size, [=](std::int64_t i) {
                   return (Wide<T>(x[i]) - centre) * scale * Wide<T>(gamma[i]) + Wide<T>(beta[i]);
                 });
               });
}

template <class T>
void gradients(const LayerNorm& op, const tenon::Call& call) {
  const T *const data = call.input<T>("data").data(), *const output_grad =
                                                          call.output_grad<T>(0).data();
  const auto rows = op.rows_of(call.input_type(0).shape);
  const auto grad = [=, size = rows.size](std::int64_t row, std::int64_t i) {
    return Wide<T>(output_grad[row * size + i]);
  };
  const auto normal = [=, size = rows.size, means = call.output_value<Wide<T>>(1).data(),
                       inverse_stds = call.output_value<Wide<T>>(2).data()](std::int64_t row,
                                                                            std::int64_t i) {
    return (Wide<T>(data[row * size + i]) - means[row]) * inverse_stds[row];
  };
  const auto put = [&](int input) {
    return [write = call.write(input), to = call.input_grad<T>(input)](std::int64_t i, double sum) {
      store(write, to[i], sum);
    };
  };
  // Computed before data's gradient, which may share memory with the output's gradient.
  if (call.write(1) != tenon::Write::none)
    sum_columns(
        call, rows.count, rows.size,
        [=](std::int64_t row, std::int64_t i) { return grad(row, i) * normal(row, i); }, put(1));
  if (call.write(2) != tenon::Write::none) sum_columns(call, rows.count, rows.size, grad, put(2));
  if (call.write(0) == tenon::Write::none) return;

  const T* const gamma = call.input<T>("gamma").data();
  T* const dx = call.input_grad<T>(0).data();
  const auto* const inverse_stds = call.output_value<Wide<T>>(2).data();
  for_each_row(
      call, rows,
      [=, write = call.write(0), size = rows.size](std::int64_t row, std::int64_t start) {
        const auto n = static_cast<double>(size);
        const auto slope = [=](std::int64_t i) { return grad(row, i) * Wide<T>(gamma[i]); };
        const auto mean_slope = static_cast<Wide<T>>(sum(size, slope) / n);
        const auto mean_slope_normal = static_cast<Wide<T>>(
            sum(size, [=](std::int64_t i) { return slope(i) * normal(row, i); }) / n);
        const auto inverse_std = inverse_stds[row];
        store_each(write, dx + start, size, [=](std::int64_t i) {
          return inverse_std * (slope(i) - mean_slope - normal(row, i) * mean_slope_normal);
        });
      });
}

}  // namespace

void LayerNorm::forward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype,
                                [&]<class T>() { normalise<T>(*this, call); });
}

void LayerNorm::backward(const tenon::Call& call) const {
  tenon::visit<tenon::floating>(call.input_type(0).dtype,
                                [&]<class T>() { gradients<T>(*this, call); });
}

TENON_OPERATOR(layer_norm, LayerNorm)
