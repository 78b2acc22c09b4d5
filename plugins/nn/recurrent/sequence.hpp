// The way of a recurrent operator along its steps: samples side by side, each step by step.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "function.hpp"
#include "shared/store.hpp"

namespace recurrent {

/// Elements in the type that they are computed in.
template <class T>
std::vector<Wide<T>> widened(const tenon::Call& call, const char* name) {
  if (!call.has_input(name)) return {};
  const auto view = call.input<T>(name);
  std::vector<Wide<T>> all(static_cast<std::size_t>(view.size()));
  for (std::int64_t i = 0; i < view.size(); ++i) all[static_cast<std::size_t>(i)] = static_cast<Wide<T>>(view[i]);
  return all;
}

/// One direction's matrices, with rows and columns changed, and biases.
template <class W>
struct Matrices {
  std::int64_t features, hidden, rows;
  std::vector<W> weight, recurrent, bias, recurrent_bias;

  /// to[i] += sum of x[k] times column (first + i) of a matrix with `count` rows.
  void add_product(const std::vector<W>& matrix, const W* x, std::int64_t count, std::int64_t first, std::int64_t columns,
                   W* __restrict to) const {
    for (std::int64_t k = 0; k < count; ++k) {
      const W factor = x[k];
      const W* const row = matrix.data() + k * rows + first;
      for (std::int64_t i = 0; i < columns; ++i) to[i] += factor * row[i];
    }
  }
};

template <class W>
std::vector<W> transposed(const W* from, std::int64_t rows, std::int64_t columns) {
  std::vector<W> to(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < columns; ++k) to[static_cast<std::size_t>(k * rows + i)] = from[i * columns + k];
  return to;
}

/// cell(matrices, direction, x, hidden state, memory of `scratch` elements) makes one step; the state `c` is the cell's own, where there is
/// one: the last output, and initial_c.
template <class T, class Cell>
void run(const Recurrent& op, const tenon::Call& call, std::int64_t gates, std::int64_t scratch, bool has_cell, const Cell& cell) {
  using W = Wide<T>;
  const auto shape = call.input_type(0).shape;
  const auto steps = shape[op.batch_first ? 1 : 0], batch = shape[op.batch_first ? 0 : 1], features = shape[2];
  const std::int64_t ways = op.directions(), hidden = call.input_type(2).shape[2], rows = gates * hidden;
  const auto weight = widened<T>(call, "weight"), recurrent = widened<T>(call, "recurrent"), bias = widened<T>(call, "bias");
  const auto initial_h = widened<T>(call, "initial_h"), initial_c = has_cell ? widened<T>(call, "initial_c") : std::vector<W>();
  std::vector<Matrices<W>> matrices;
  for (std::int64_t way = 0; way < ways; ++way) {
    Matrices<W> made{features,
                     hidden,
                     rows,
                     transposed(weight.data() + way * rows * features, rows, features),
                     transposed(recurrent.data() + way * rows * hidden, rows, hidden),
                     {},
                     {}};
    made.bias.assign(static_cast<std::size_t>(rows), W(0));
    made.recurrent_bias = made.bias;
    if (!bias.empty()) {
      std::copy_n(bias.data() + way * 2 * rows, rows, made.bias.data());
      std::copy_n(bias.data() + way * 2 * rows + rows, rows, made.recurrent_bias.data());
    }
    matrices.push_back(std::move(made));
  }
  const std::int32_t* const lengths = call.has_input("lengths") ? call.input<std::int32_t>("lengths").data() : nullptr;
  for (std::int64_t n = 0; lengths && n < batch; ++n)
    if (lengths[n] < 0 || lengths[n] > steps) throw tenon::Error("lengths has ", lengths[n], ", but there are ", steps, " steps");
  const T* const data = call.input<T>(0).data();
  T* const output = call.write(0) != tenon::Write::none ? call.output<T>(0).data() : nullptr;
  T* const last_h = call.write(1) != tenon::Write::none ? call.output<T>(1).data() : nullptr;
  T* const last_c = has_cell && call.write(2) != tenon::Write::none ? call.output<T>(2).data() : nullptr;
  const auto state_at = [&](std::int64_t way, std::int64_t n) { return (op.batch_first ? n * ways + way : way * batch + n) * hidden; };
  const auto output_at = [&](std::int64_t t, std::int64_t way, std::int64_t n) {
    return (op.batch_first ? (n * steps + t) * ways + way : (t * ways + way) * batch + n) * hidden;
  };
  call.parallel_for(ways * batch, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<W> memory(static_cast<std::size_t>(2 * hidden + features + scratch));
    W *const h = memory.data(), *const c = h + hidden, *const x = c + hidden, *const rest = x + features;
    for (auto i = begin; i < end; ++i) {
      const auto way = i / batch, n = i % batch, length = lengths ? lengths[n] : steps;
      const auto start = [&](const std::vector<W>& from, W* to) {
        if (from.empty())
          std::fill_n(to, hidden, W(0));
        else
          std::copy_n(from.data() + state_at(way, n), hidden, to);
      };
      start(initial_h, h), start(initial_c, c);
      const bool back = op.direction == Direction::reverse || way == 1;
      for (std::int64_t step = 0; step < length; ++step) {
        const auto t = back ? length - 1 - step : step;
        const T* const from = data + (op.batch_first ? n * steps + t : t * batch + n) * features;
        for (std::int64_t k = 0; k < features; ++k) x[k] = static_cast<W>(from[k]);
        cell(matrices[static_cast<std::size_t>(way)], way, x, h, c, rest);
        for (std::int64_t k = 0; output && k < hidden; ++k) output[output_at(t, way, n) + k] = T(h[k]);
      }
      for (auto t = length; output && t < steps; ++t) std::fill_n(output + output_at(t, way, n), hidden, T(0));
      for (std::int64_t k = 0; last_h && k < hidden; ++k) last_h[state_at(way, n) + k] = T(h[k]);
      for (std::int64_t k = 0; last_c && k < hidden; ++k) last_c[state_at(way, n) + k] = T(c[k]);
    }
  });
}

}  // namespace recurrent
