// lstm, gru and rnn against their definitions in ONNX.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "plugins/check.hpp"

namespace {

struct RecurrentRow {
  std::string op, direction = "forward";
  std::int64_t steps, batch, features, hidden;
  bool lengths = false, batch_first = false, option = false;  ///< option: the operator's own
};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

/// The state of one sample. Gates are sums of one row each of weight and recurrent.
struct Sample {
  const RecurrentRow& row;
  const std::vector<DoubleArray>& in;
  std::int64_t direction;
  std::vector<double> h, c;

  double times(std::size_t matrix, std::int64_t at, const double* x) const {
    const auto size = in[matrix].dim(2);
    const double* const from =
        in[matrix].values.data() + (direction * in[matrix].dim(1) + at) * size;
    double sum = 0;
    for (std::int64_t k = 0; k < size; ++k) sum += from[k] * x[k];
    return sum;
  }
  double bias(std::int64_t at, bool recurrent) const {
    const auto rows = in[1].dim(1);
    return in[3].values.empty() ? 0 : in[3][(2 * direction + recurrent) * rows + at];
  }
  double of_weight(std::int64_t gate, std::int64_t k, const double* x) const {
    const auto at = gate * row.hidden + k;
    return times(1, at, x) + bias(at, false);
  }
  double of_recurrent(std::int64_t gate, std::int64_t k, const std::vector<double>& from) const {
    const auto at = gate * row.hidden + k;
    return times(2, at, from.data()) + bias(at, true);
  }
  double peephole(std::int64_t gate, std::int64_t k) const {
    return row.option ? in[7][(direction * 3 + gate) * row.hidden + k] : 0;
  }

  void step(const double* x) {
    const auto before = h;
    const auto sum = [&](std::int64_t gate, std::int64_t k) {
      return of_weight(gate, k, x) + of_recurrent(gate, k, before);
    };
    const auto size = static_cast<std::int64_t>(h.size());
    auto reset = before;
    for (std::int64_t k = 0; row.op == "gru" && k < size; ++k)
      reset[static_cast<std::size_t>(k)] *= sigmoid(sum(1, k));
    for (std::int64_t k = 0; k < size; ++k) {
      double &own = h[static_cast<std::size_t>(k)], &cell = c[static_cast<std::size_t>(k)];
      if (row.op == "rnn") {
        own = std::tanh(sum(0, k));
      } else if (row.op == "lstm") {
        const double i = sigmoid(sum(0, k) + peephole(0, k) * cell),
                     f = sigmoid(sum(2, k) + peephole(2, k) * cell);
        cell = f * cell + i * std::tanh(sum(3, k));
        own = sigmoid(sum(1, k) + peephole(1, k) * cell) * std::tanh(cell);
      } else {
        const double z = sigmoid(sum(0, k)),
                     product = row.option ? sigmoid(sum(1, k)) * of_recurrent(2, k, before)
                                          : of_recurrent(2, k, reset);
        own = (1 - z) * std::tanh(of_weight(2, k, x) + product) + z * own;
      }
    }
  }
};

/// Inputs: data, weight, recurrent, bias, lengths, initial_h; of lstm also initial_c, peepholes.
std::vector<DoubleArray> run(const RecurrentRow& row, const std::vector<DoubleArray>& in) {
  const auto directions = in[1].dim(0), hidden = row.hidden;
  auto output = zeros(row.batch_first ? tenon::Shape{row.batch, row.steps, directions, hidden}
                                      : tenon::Shape{row.steps, directions, row.batch, hidden});
  auto last_h = zeros(in[5].shape), last_c = last_h;
  for (std::int64_t direction = 0; direction < directions; ++direction)
    for (std::int64_t n = 0; n < row.batch; ++n) {
      const auto state =
          (row.batch_first ? n * directions + direction : direction * row.batch + n) * hidden;
      const auto begin = in[5].values.begin() + state;
      Sample sample{row, in, direction, {begin, begin + hidden}, std::vector<double>(hidden)};
      if (row.op == "lstm") std::copy_n(in[6].values.begin() + state, hidden, sample.c.begin());
      const auto length = row.lengths ? static_cast<std::int64_t>(in[4][n]) : row.steps;
      for (std::int64_t step = 0; step < length; ++step) {
        const bool backwards = row.direction == "reverse" || direction == 1;
        const auto t = backwards ? length - 1 - step : step,
                   at = row.batch_first ? n * row.steps + t : t * row.batch + n;
        sample.step(in[0].values.data() + at * row.features);
        const auto to = row.batch_first ? at * directions + direction
                                        : (t * directions + direction) * row.batch + n;
        std::copy(sample.h.begin(), sample.h.end(), output.values.begin() + to * hidden);
      }
      std::copy(sample.h.begin(), sample.h.end(), last_h.values.begin() + state);
      std::copy(sample.c.begin(), sample.c.end(), last_c.values.begin() + state);
    }
  if (row.op == "lstm") return {output, last_h, last_c};
  return {output, last_h};
}

Case recurrent(const RecurrentRow& row, tenon::DType dtype) {
  const std::int64_t gates = row.op == "lstm"  ? 4
                             : row.op == "gru" ? 3
                                               : 1,
                     directions = row.direction == "bidirectional" ? 2 : 1,
                     rows = gates * row.hidden;
  const auto state = row.batch_first ? tenon::Shape{row.batch, directions, row.hidden}
                                     : tenon::Shape{directions, row.batch, row.hidden};
  Case test{tenon::join(dtype, " ", row.op, " ", row.direction, " ", row.hidden),
            "nn",
            row.op,
            {{"direction", row.direction}, {"batch_first", row.batch_first}},
            {},
            [row](const auto& in) { return run(row, in); },
            {0, 1, 2, 3, 5},
            dtype == tenon::f64 ? 1e-7 : 1e-4};
  const auto add = [&](const tenon::Shape& shape, double scale = 1) {
    auto values = random_doubles(shape, static_cast<unsigned>(test.inputs.size()) + 1);
    for (auto& value : values.values) value *= scale;
    test.inputs.push_back(Array(dtype, values));
  };
  const double scale = 1 / std::sqrt(static_cast<double>(row.hidden));
  add(row.batch_first ? tenon::Shape{row.batch, row.steps, row.features}
                      : tenon::Shape{row.steps, row.batch, row.features});
  add({directions, rows, row.features}, scale);
  add({directions, rows, row.hidden}, scale);
  add({directions, 2 * rows}, scale);
  auto lengths = random_indices({row.batch}, static_cast<unsigned>(row.steps) + 1, 5);
  test.inputs.push_back(row.lengths ? Array(tenon::i32, lengths) : Array());
  add(state);
  if (row.op == "gru") test.attributes.set("linear_before_reset", row.option);
  if (row.op != "lstm") return test;
  add(state);
  test.differentiable.push_back(6);
  if (row.option)
    add({directions, 3 * row.hidden}), test.differentiable.push_back(7);
  else
    test.inputs.push_back(Array());
  return test;
}

}  // namespace

TEST_CASE("recurrent operators match their definitions, and their gradients the oracle's") {
  const RecurrentRow rows[] = {
      {"lstm", "bidirectional", 4, 3, 2, 5, true},
      {"lstm", "reverse", 4, 3, 2, 5, true, true, true},
      {"gru", "bidirectional", 4, 3, 2, 5, true, true},
      {"gru", "reverse", 4, 3, 2, 5, true, false, true},
      {"rnn", "bidirectional", 4, 3, 2, 5, true},
      // more units than a panel of weights has columns, and more inputs than a product takes
      {"lstm", "forward", 40, 3, 7, 70},
      {"gru", "forward", 40, 3, 7, 35, false, false, true},
      {"lstm", "forward", 3, 40, 20, 35, false, true},  // several groups of samples
      {"lstm", "forward", 2, 1, 9, 300},                // products on several threads
  };
  for (const auto& row : rows) check(recurrent(row, tenon::f32));
  for (const auto& row : rows)
    if (row.hidden == 5) check(recurrent(row, tenon::f64));
}
