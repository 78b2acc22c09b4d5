// The steps of a recurrent operator on the CPU: samples in parallel, each one step by step.
#pragma once
#include <algorithm>
#include <type_traits>
#include <vector>

#include "function.hpp"
#include "shared/store.hpp"

namespace recurrent {

/// The elements of an input, converted to the type of the computation.
template <class T>
std::vector<Wide<T>> widened(const tenon::Call& call, const char* name) {
  if (!call.has_input(name)) return {};
  const auto view = call.input<T>(name);
  std::vector<Wide<T>> all(static_cast<std::size_t>(view.size()));
  for (std::int64_t i = 0; i < view.size(); ++i)
    all[static_cast<std::size_t>(i)] = static_cast<Wide<T>>(view[i]);
  return all;
}

/// One direction's transposed matrices, and biases.
template <class W>
struct Matrices {
  std::int64_t features, hidden, rows;
  std::vector<W> weight, recurrent, bias, recurrent_bias;

  /// to[i] += sum over k < count of x[k] times element (k, first + i) of the matrix.
  void add_product(const std::vector<W>& matrix, const W* x, std::int64_t count, std::int64_t first,
                   std::int64_t columns, W* __restrict to) const {
    for (std::int64_t k = 0; k < count; ++k) {
      const W factor = x[k];
      const W* const row = matrix.data() + k * rows + first;
      for (std::int64_t i = 0; i < columns; ++i) to[i] += factor * row[i];
    }
  }
  /// The gradient with respect to x: to[k] += sum over i of d[i] times element (k, first + i).
  void add_gradient(const std::vector<W>& matrix, const W* d, std::int64_t count,
                    std::int64_t first, std::int64_t columns, W* to) const {
    for (std::int64_t k = 0; k < count; ++k) {
      const W* const row = matrix.data() + k * rows + first;
      W sum = 0;
      for (std::int64_t i = 0; i < columns; ++i) sum += d[i] * row[i];
      to[k] += sum;
    }
  }
};

template <class W>
std::vector<W> transposed(const W* from, std::int64_t rows, std::int64_t columns) {
  std::vector<W> to(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < columns; ++k)
      to[static_cast<std::size_t>(k * rows + i)] = from[i * columns + k];
  return to;
}

/// The tensors of a call, converted to the type of the computation, and their layout.
template <class T>
struct Layer {
  using W = Wide<T>;
  const Recurrent& op;
  std::int64_t steps, batch, features, num_directions, hidden, rows;
  std::vector<Matrices<W>> matrices;  ///< one for each direction
  std::vector<W> initial_h, initial_c;
  const std::int32_t* lengths;
  const T* data;

  /// Throws if lengths contains a number outside of [0, steps].
  Layer(const Recurrent& layer, const tenon::Call& call, std::int64_t gates, bool has_cell)
      : op(layer),
        steps(call.input_type(0).shape[layer.batch_first ? 1 : 0]),
        batch(call.input_type(0).shape[layer.batch_first ? 0 : 1]),
        features(call.input_type(0).shape[2]),
        num_directions(layer.directions()),
        hidden(call.input_type(2).shape[2]),
        rows(gates * hidden),
        initial_h(widened<T>(call, "initial_h")),
        lengths(call.has_input("lengths") ? call.input<std::int32_t>("lengths").data() : nullptr),
        data(call.input<T>(0).data()) {
    if (has_cell) initial_c = widened<T>(call, "initial_c");
    const auto weight = widened<T>(call, "weight"), recurrent = widened<T>(call, "recurrent"),
               bias = widened<T>(call, "bias");
    for (std::int64_t direction_index = 0; direction_index < num_directions; ++direction_index) {
      Matrices<W> made{
          features,
          hidden,
          rows,
          transposed(weight.data() + direction_index * rows * features, rows, features),
          transposed(recurrent.data() + direction_index * rows * hidden, rows, hidden),
          {},
          {}};
      made.bias.assign(static_cast<std::size_t>(rows), W(0));
      made.recurrent_bias = made.bias;
      if (!bias.empty()) {
        std::copy_n(bias.data() + direction_index * 2 * rows, rows, made.bias.data());
        std::copy_n(bias.data() + direction_index * 2 * rows + rows, rows,
                    made.recurrent_bias.data());
      }
      matrices.push_back(std::move(made));
    }
    for (std::int64_t n = 0; lengths && n < batch; ++n)
      if (lengths[n] < 0 || lengths[n] > steps)
        throw tenon::Error("lengths contains ", lengths[n], ", but data has ", steps,
                           " steps: needs 0 to ", steps);
  }

  const Matrices<W>& matrices_of(std::int64_t direction_index) const {
    return matrices[static_cast<std::size_t>(direction_index)];
  }
  std::int64_t length(std::int64_t n) const { return lengths ? lengths[n] : steps; }
  /// Index in the sequence of step `step` of the computation.
  std::int64_t time(std::int64_t direction_index, std::int64_t n, std::int64_t step) const {
    return op.direction == Direction::reverse || direction_index == 1 ? length(n) - 1 - step : step;
  }
  std::int64_t data_at(std::int64_t t, std::int64_t n) const {
    return (op.batch_first ? n * steps + t : t * batch + n) * features;
  }
  std::int64_t state_at(std::int64_t direction_index, std::int64_t n) const {
    return (op.batch_first ? n * num_directions + direction_index : direction_index * batch + n) *
           hidden;
  }
  std::int64_t output_at(std::int64_t t, std::int64_t direction_index, std::int64_t n) const {
    return (op.batch_first ? (n * steps + t) * num_directions + direction_index
                           : (t * num_directions + direction_index) * batch + n) *
           hidden;
  }

  void start(const std::vector<W>& from, std::int64_t direction_index, std::int64_t n,
             W* to) const {
    if (from.empty())
      std::fill_n(to, hidden, W(0));
    else
      std::copy_n(from.data() + state_at(direction_index, n), hidden, to);
  }
  void read(std::int64_t t, std::int64_t n, W* x) const {
    const T* const from = data + data_at(t, n);
    for (std::int64_t k = 0; k < features; ++k) x[k] = static_cast<W>(from[k]);
  }
};

/// cell(matrices, direction, x, hidden state, cell state, scratch of `scratch` elements) computes
/// one step. If the operator has a cell state `c`, it is the last output and starts as initial_c.
template <class T, class Cell>
void run(const Recurrent& op, const tenon::Call& call, std::int64_t gates, std::int64_t scratch,
         bool has_cell, const Cell& cell) {
  using W = Wide<T>;
  const Layer<T> layer(op, call, gates, has_cell);
  const auto hidden = layer.hidden;
  T* const output = call.write(0) != tenon::Write::none ? call.output<T>(0).data() : nullptr;
  T* const last_h = call.write(1) != tenon::Write::none ? call.output<T>(1).data() : nullptr;
  T* const last_c =
      has_cell && call.write(2) != tenon::Write::none ? call.output<T>(2).data() : nullptr;
  call.parallel_for(
      layer.num_directions * layer.batch, 1, [&](std::int64_t begin, std::int64_t end) {
        std::vector<W> memory(static_cast<std::size_t>(2 * hidden + layer.features + scratch));
        W *const h = memory.data(), *const c = h + hidden, *const x = c + hidden,
                 *const rest = x + layer.features;
        for (auto i = begin; i < end; ++i) {
          const auto direction_index = i / layer.batch, n = i % layer.batch,
                     length = layer.length(n);
          layer.start(layer.initial_h, direction_index, n, h),
              layer.start(layer.initial_c, direction_index, n, c);
          for (std::int64_t step = 0; step < length; ++step) {
            const auto t = layer.time(direction_index, n, step);
            layer.read(t, n, x);
            cell(layer.matrices_of(direction_index), direction_index, x, h, c, rest);
            for (std::int64_t k = 0; output && k < hidden; ++k)
              output[layer.output_at(t, direction_index, n) + k] = T(h[k]);
          }
          for (auto t = length; output && t < layer.steps; ++t)
            std::fill_n(output + layer.output_at(t, direction_index, n), hidden, T(0));
          for (std::int64_t k = 0; last_h && k < hidden; ++k)
            last_h[layer.state_at(direction_index, n) + k] = T(h[k]);
          for (std::int64_t k = 0; last_c && k < hidden; ++k)
            last_c[layer.state_at(direction_index, n) + k] = T(c[k]);
        }
      });
}

}  // namespace recurrent
