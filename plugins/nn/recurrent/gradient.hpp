// Gradients of the recurrent operators: the steps of each sample are recomputed and then traversed
// backwards. Gradients of matrices and biases are summed over all samples and steps afterwards, in
// an order that does not depend on the number of threads.
#pragma once
#include "sequence.hpp"

namespace recurrent {

/// One step of the backward pass. x, h and c are the inputs of the step. On entry, dh and dc are
/// the gradients of its results; on return, those of its inputs h and c. Also returns the gradients
/// of its sums.
template <class W>
struct StepBackward {
  const W *x, *h, *c;
  W *dh, *dc;
  W* sums;            ///< [rows]: gradients of weight * x + bias
  W* recurrent_sums;  ///< [rows]: gradients of recurrent * h + bias
  W* last_block;      ///< [hidden]: factor of the last rows of recurrent; h, unless the step sets
                      ///< another one
  W* extra;           ///< gradients of the operator's other weights, summed over steps and samples
  W* scratch;
};

/// cell is that of run(); backward(matrices, direction, StepBackward) is its gradient. `extra`:
/// number of elements per direction of the input `extra_name`.
template <class T, class Cell, class Backward>
void run_backward(const Recurrent& op, const tenon::Call& call, std::int64_t gates,
                  std::int64_t scratch, bool has_cell, const Cell& cell, const Backward& backward,
                  const char* extra_name = nullptr, std::int64_t extra = 0) {
  using W = Wide<T>;
  const Layer<T> layer(op, call, gates, has_cell);
  const auto hidden = layer.hidden, rows = layer.rows, features = layer.features;
  // per step: the gradients of its sums, h, and the input of the last block
  const auto samples = layer.num_directions * layer.batch, saved = 2 * rows + 2 * hidden;
  const auto number = [](std::int64_t count) {
    return std::vector<W>(static_cast<std::size_t>(count), W(0));
  };
  auto all = number(samples * layer.steps * saved),
       dx = number(layer.num_directions * layer.batch * layer.steps * features),
       dh0 = number(samples * hidden), dc0 = number(has_cell ? samples * hidden : 0),
       dextra = number(samples * extra);
  const auto grad_or_null = [&](int output) {
    return call.has_output_grad(output) ? call.output_grad<T>(output).data() : nullptr;
  };
  const T *const dy = grad_or_null(0), *const dlast_h = grad_or_null(1),
                 *const dlast_c = has_cell ? grad_or_null(2) : nullptr;
  call.parallel_for(samples, 1, [&](std::int64_t begin, std::int64_t end) {
    auto memory = number(2 * (layer.steps + 1) * hidden + 2 * hidden + features + scratch);
    W *const states = memory.data(), *const cells = states + (layer.steps + 1) * hidden,
             *const dh = cells + (layer.steps + 1) * hidden;
    W *const dc = dh + hidden, *const x = dc + hidden, *const rest = x + features;
    for (auto i = begin; i < end; ++i) {
      const auto direction_index = i / layer.batch, n = i % layer.batch, length = layer.length(n);
      const auto& matrices = layer.matrices_of(direction_index);
      layer.start(layer.initial_h, direction_index, n, states),
          layer.start(layer.initial_c, direction_index, n, cells);
      for (std::int64_t step = 0; step < length; ++step) {
        W *const h = states + (step + 1) * hidden, *const c = cells + (step + 1) * hidden;
        std::copy_n(h - hidden, hidden, h), std::copy_n(c - hidden, hidden, c);
        layer.read(layer.time(direction_index, n, step), n, x);
        cell(matrices, direction_index, x, h, c, rest);
      }
      for (std::int64_t k = 0; k < hidden; ++k) {
        dh[k] = dlast_h ? static_cast<W>(dlast_h[layer.state_at(direction_index, n) + k]) : W(0);
        dc[k] = dlast_c ? static_cast<W>(dlast_c[layer.state_at(direction_index, n) + k]) : W(0);
      }
      for (auto step = length; step-- > 0;) {
        const auto t = layer.time(direction_index, n, step);
        for (std::int64_t k = 0; dy && k < hidden; ++k)
          dh[k] += static_cast<W>(dy[layer.output_at(t, direction_index, n) + k]);
        layer.read(t, n, x);
        const W* const h = states + step * hidden;
        W *const sums = all.data() + (i * layer.steps + t) * saved, *const inputs = sums + 2 * rows;
        std::copy_n(h, hidden, inputs), std::copy_n(h, hidden, inputs + hidden);
        backward(matrices, direction_index,
                 StepBackward<W>{x, h, cells + step * hidden, dh, dc, sums, sums + rows,
                                 inputs + hidden, dextra.data() + i * extra, rest});
        matrices.add_gradient(matrices.weight, sums, features, 0, rows,
                              dx.data() + (i * layer.steps + t) * features);
      }
      std::copy_n(dh, hidden, dh0.data() + layer.state_at(direction_index, n));
      if (has_cell) std::copy_n(dc, hidden, dc0.data() + layer.state_at(direction_index, n));
    }
  });

  // writes value(i) for each element of the input's gradient, if it is requested
  const auto put = [&](const char* name, int input, const auto& value) {
    if (!call.has_input(name) || call.write(input) == tenon::Write::none) return;
    const auto to = call.input_grad<T>(name);
    call.parallel_for(to.size(), 16, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) store(call.write(input), to.data()[i], value(i));
    });
  };
  const auto sum = [&](std::int64_t direction_index, const auto& term) {
    W result = 0;
    for (std::int64_t n = 0; n < layer.batch; ++n)
      for (std::int64_t t = 0; t < layer.length(n); ++t)
        result += term(all.data() + ((direction_index * layer.batch + n) * layer.steps + t) * saved,
                       t, n);
    return result;
  };
  put("data", 0, [&](std::int64_t i) {
    const auto k = i % features, sample_step = i / features,
               t = op.batch_first ? sample_step % layer.steps : sample_step / layer.batch;
    const auto n = op.batch_first ? sample_step / layer.steps : sample_step % layer.batch;
    W result = 0;
    for (std::int64_t direction_index = 0; direction_index < layer.num_directions;
         ++direction_index)
      result += dx[static_cast<std::size_t>(
          (((direction_index * layer.batch + n) * layer.steps) + t) * features + k)];
    return result;
  });
  put("weight", 1, [&](std::int64_t i) {
    const auto k = i % features, row = i / features % rows;
    return sum(i / features / rows, [&](const W* step, std::int64_t t, std::int64_t n) {
      return step[row] * static_cast<W>(layer.data[layer.data_at(t, n) + k]);
    });
  });
  put("recurrent", 2, [&](std::int64_t i) {
    const auto k = i % hidden, row = i / hidden % rows,
               input = 2 * rows + (row < rows - hidden ? k : hidden + k);
    return sum(i / hidden / rows, [&](const W* step, std::int64_t, std::int64_t) {
      return step[rows + row] * step[input];
    });
  });
  put("bias", 3, [&](std::int64_t i) {
    return sum(i / (2 * rows),
               [&](const W* step, std::int64_t, std::int64_t) { return step[i % (2 * rows)]; });
  });
  put("initial_h", 5, [&](std::int64_t i) { return dh0[static_cast<std::size_t>(i)]; });
  if (has_cell)
    put("initial_c", 6, [&](std::int64_t i) { return dc0[static_cast<std::size_t>(i)]; });
  if (extra_name == nullptr) return;
  put(extra_name, 7, [&](std::int64_t i) {
    W result = 0;
    for (std::int64_t n = 0; n < layer.batch; ++n)
      result += dextra[static_cast<std::size_t>((i / extra * layer.batch + n) * extra + i % extra)];
    return result;
  });
}

}  // namespace recurrent
