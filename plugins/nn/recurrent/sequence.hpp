// The steps of a recurrent operator on the CPU: one product for the inputs of all steps, then step
// by step products of the states of all samples, whose units are computed in vectors.
#pragma once
#include "layer.hpp"

namespace recurrent {

/// Some samples of one direction, whose steps one thread computes. Arrays are [samples][padded],
/// sums [samples][blocks][padded].
template <class W>
struct Group {
  std::int64_t direction, first, count, hidden, padded;
  int threads;  ///< that may compute its products
  W *h, *c, *reset, *sums;

  /// Multiplies `from` by the recurrent matrices of some gates, into their blocks of sums.
  StepProduct<W> product(int gates, int first_gate, int last_gate, int blocks, const W* from,
                         const W* start) const {
    return {direction * gates + first_gate,
            last_gate - first_gate,
            0,
            hidden,
            count,
            from,
            padded,
            start,
            sums + first_gate * padded,
            blocks * padded,
            padded,
            threads};
  }
};

/// Calls body(k) for each unit, in vectors if `vectors`: then also for the padding.
template <bool vectors, class Body>
void for_each_unit(std::int64_t hidden, const Body& body) {
  if constexpr (vectors)
    tenon::elementwise::for_each(padded(hidden), body);
  else
    for (std::int64_t k = 0; k < hidden; ++k) body(k);
}

/// Calls body(direction, first sample, number of samples, threads for its products) for all
/// groups, on the host's threads. `work`: multiplications of all of them.
template <class Body>
void for_each_group(const tenon::Call& call, const Sizes& sizes, const Body& body) {
  constexpr double worth_a_thread = 250'000;  // multiplications
  constexpr std::int64_t worthwhile = 8;      // samples of a group: they share reads of weights
  const double work = static_cast<double>(sizes.inputs()) * static_cast<double>(sizes.hidden) *
                      static_cast<double>(sizes.directions * sizes.rows);
  const std::int64_t threads = work < 2 * worth_a_thread ? 1 : call.threads();
  const auto groups = std::clamp<std::int64_t>(threads / sizes.directions, 1,
                                               std::max<std::int64_t>(sizes.batch / worthwhile, 1)),
             count = sizes.directions * groups;
  call.parallel_for(count, threads > 1 ? 1 : count, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto group = i % groups, first = sizes.batch * group / groups;
      body(i / groups, first, sizes.batch * (group + 1) / groups - first,
           static_cast<int>(std::max<std::int64_t>(threads / count, 1)));
    }
  });
}

/// Arrays of the forward pass.
template <class W>
struct ForwardArrays {
  W *bias, *inputs;         ///< [directions * rows]; [rows of data, directions * rows]
  W *h, *c, *reset, *sums;  ///< per direction and sample

  ForwardArrays(Workspace<W>& workspace, const Sizes& at, int blocks)
      : bias(workspace.take(at.directions * at.rows)),
        inputs(workspace.take(at.inputs() * at.directions * at.rows + at.padded)),
        h(workspace.take(at.directions * at.batch * at.padded)),
        c(workspace.take(at.directions * at.batch * at.padded)),
        reset(workspace.take(at.directions * at.batch * at.padded)),
        sums(workspace.take(at.directions * at.batch * at.padded * blocks)) {}

  Group<W> group(const Sizes& at, int blocks, std::int64_t direction, std::int64_t first,
                 std::int64_t count, int threads) const {
    const auto offset = (direction * at.batch + first) * at.padded;
    return {direction, first,      count,      at.hidden,      at.padded,
            threads,   h + offset, c + offset, reset + offset, sums + offset * blocks};
  }
};

template <class Cell>
std::size_t forward_bytes(const Recurrent& op, const tenon::Infer& io) {
  const Sizes sizes(op, io.input(0).shape, io.input(2).shape);
  Workspace<float> workspace;
  ForwardArrays<float>(workspace, sizes, Cell::blocks);
  return workspace.size() * (io.input(0).dtype == tenon::f64 ? sizeof(double) : sizeof(float));
}

/// Packs constant f32 matrices: weight into slot 0 and recurrent into slot 1.
inline void prepack(const Recurrent& op, tenon::Prepare& io) {
  if (io.backward() || io.input(0).dtype != tenon::f32) return;
  const Sizes at(op, io.input(0).shape, io.input(2).shape);
  const auto size = at.input_product();
  const product::F32Arithmetic arithmetic(size);
  if (io.is_constant("weight") && arithmetic.packed_size() > 0)
    io.prepack(
        0, "weight",
        tenon::join(arithmetic.packing(), " of ", size.columns, " x ", size.depth, ", transposed"),
        sizeof(float) * static_cast<std::size_t>(arithmetic.packed_size()), [&](void* memory) {
          arithmetic.pack({io.constant<float>("weight").data(), size.depth, true},
                          static_cast<float*>(memory));
        });
  const auto matrices = at.hidden > 0 ? at.directions * at.rows / at.hidden : 0,
             each = product::packed_size(at.hidden, at.hidden);
  if (io.is_constant("recurrent") && matrices > 0)
    io.prepack(1, "recurrent",
               tenon::join(product::packing(), " of ", matrices, " x ", at.hidden, " x ", at.hidden,
                           ", transposed"),
               sizeof(float) * static_cast<std::size_t>(matrices * each), [&](void* memory) {
                 for (std::int64_t i = 0; i < matrices; ++i)
                   product::pack(
                       {io.constant<float>("recurrent").data() + i * at.hidden * at.hidden,
                        at.hidden, true},
                       at.hidden, at.hidden, static_cast<float*>(memory) + i * each);
               });
}

/// Computes the sums of the inputs of all steps. The last gate's bias of recurrent belongs to its
/// product instead if `splits_bias`.
template <class T, class W>
void multiply_inputs(const Layer<T>& layer, const ForwardArrays<W>& arrays, bool splits_bias) {
  const auto rows = layer.rows, joined = splits_bias ? rows - layer.hidden : rows;
  for (std::int64_t i = 0; layer.bias.data() && i < layer.directions * rows; ++i) {
    const W* const own = layer.bias.data() + i / rows * 2 * rows + i % rows;
    arrays.bias[i] = i % rows < joined ? own[0] + own[rows] : own[0];
  }
  multiply(layer.call, {layer.data.data(), layer.features, false},
           {layer.weight.data(), layer.features, true}, arrays.inputs, layer.input_product(),
           layer.bias.data() ? arrays.bias : nullptr, false, layer.call.prepacked(0));
}

/// The last gate's bias of recurrent; null for none.
template <class T>
const Wide<T>* product_bias(const Layer<T>& layer, std::int64_t direction) {
  return layer.bias.data() ? layer.bias.data() + (direction + 1) * 2 * layer.rows - layer.hidden
                           : nullptr;
}

/// Runs the steps of one group. Cell: see lstm.cpp. before(step, t, n, index in the group) is
/// called for samples that have this step, ahead of its units, and returns where to write the sums;
/// after(...) when h and c are the new ones.
template <class T, class Cell, class Before, class After>
void run_steps(const Layer<T>& layer, const ForwardArrays<Wide<T>>& arrays, const Cell& cell,
               const StepMatrix<Wide<T>>& recurrent, const Group<Wide<T>>& group,
               const Before& before, const After& after) {
  const auto padded = layer.padded, direction = group.direction;
  for (std::int64_t i = 0; i < group.count; ++i) {
    layer.start(layer.initial_h, direction, group.first + i, group.h + i * padded);
    if (Cell::has_cell)
      layer.start(layer.initial_c, direction, group.first + i, group.c + i * padded);
  }
  const auto for_active = [&](std::int64_t step, const auto& body) {
    for (std::int64_t i = 0; i < group.count; ++i) {
      const auto n = group.first + i;
      if (step >= layer.length(n)) continue;
      const auto t = layer.time(direction, n, step);
      body(i, n, t,
           arrays.inputs + (layer.row_at(t, n) * layer.directions + direction) * layer.rows);
    }
  };
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < group.count; ++i)
    last = std::max(last, layer.length(group.first + i));
  for (std::int64_t step = 0; step < last; ++step) {
    cell.multiply(
        layer.call, recurrent, group, product_bias(layer, direction), [&](const auto& body) {
          for_active(step, [&](auto i, auto, auto, const auto* inputs) { body(i, inputs); });
        });
    for_active(step, [&](auto i, auto n, auto t, const auto* inputs) {
      cell.step(direction, inputs, group.sums + i * Cell::blocks * padded, before(t, n, i),
                group.h + i * padded, group.c + i * padded);
      after(t, n, i);
    });
  }
}

/// The forward pass. If the cell has a cell state, that is the last output.
template <class T, class Cell>
void run(const Recurrent& op, const tenon::Call& call, const Cell& cell) {
  using W = Wide<T>;
  const Layer<T> layer(op, call);
  const auto hidden = layer.hidden, padded = layer.padded;
  Workspace<W> count;
  ForwardArrays<W>(count, layer, Cell::blocks);
  Workspace<W> workspace(call.workspace<W>(count.size()));
  const ForwardArrays<W> arrays(workspace, layer, Cell::blocks);
  multiply_inputs(layer, arrays, Cell::splits_bias);
  const StepMatrix<W> recurrent(call, layer.recurrent.data(), true, layer.directions * Cell::gates,
                                hidden, hidden, call.prepacked(1));
  const auto output_or_null = [&](int i) {
    return call.write(i) != tenon::Write::none ? call.output<T>(i).data() : nullptr;
  };
  T* const output = output_or_null(0);
  T* const last_h = output_or_null(1);
  T* const last_c = Cell::has_cell ? output_or_null(2) : nullptr;
  const auto put = [&](const W* from, T* to) {
    for (std::int64_t k = 0; k < hidden; ++k) to[k] = T(from[k]);
  };
  for_each_group(call, layer, [&](auto direction, auto first, auto samples, int threads) {
    const auto group = arrays.group(layer, Cell::blocks, direction, first, samples, threads);
    run_steps(
        layer, arrays, cell, recurrent, group,
        [&](auto, auto, auto i) { return group.sums + i * Cell::blocks * padded; },
        [&](auto t, auto n, auto i) {
          if (output) put(group.h + i * padded, output + layer.output_at(t, direction, n));
        });
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto n = first + i;
      for (auto t = layer.length(n); output && t < layer.steps; ++t)
        std::fill_n(output + layer.output_at(t, direction, n), hidden, T(0));
      if (last_h) put(group.h + i * padded, last_h + layer.state_at(direction, n));
      if (last_c) put(group.c + i * padded, last_c + layer.state_at(direction, n));
    }
  });
}

}  // namespace recurrent
