// Device code for each step of a recurrent operator, in one direction.
#pragma once
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/launch.hpp>

#include "cells.hpp"

namespace recurrent {

template <class From, class To>
struct ConvertEach {
  const From* from;
  To* to;

  TENON_FN void operator()(std::int64_t i) const { to[i] = To(static_cast<Wide<To>>(from[i])); }
};

struct LayerSizes {
  std::int64_t steps, batch, features, hidden, rows;  ///< rows: of weight, for one direction
};

/// The tensors of a call and their layout.
struct SequenceLayout : LayerSizes {
  std::int64_t num_directions, direction_index;
  bool batch_first, reverse;
  const std::int32_t* lengths;  ///< null: all steps
  tenon::gpu::Fault fault;

  /// The number of steps of a sample. A number out of range becomes a fault.
  TENON_DEVICE std::int64_t length(std::int64_t n) const {
    if (!lengths) return steps;
    return fault.fits(lengths[n], steps + 1) ? lengths[n] : 0;
  }
  /// Index in the sequence of step `step` of the computation.
  TENON_DEVICE std::int64_t time(std::int64_t n, std::int64_t step) const {
    return reverse ? length(n) - 1 - step : step;
  }
  /// The row of a step of a sample in data, and in all values stored per step.
  TENON_FN std::int64_t row(std::int64_t t, std::int64_t n) const {
    return batch_first ? n * steps + t : t * batch + n;
  }
  TENON_FN std::int64_t state_at(std::int64_t n) const {
    return (batch_first ? n * num_directions + direction_index : direction_index * batch + n) *
           hidden;
  }
  TENON_FN std::int64_t output_at(std::int64_t t, std::int64_t n) const {
    return (batch_first ? (n * steps + t) * num_directions + direction_index
                        : (t * num_directions + direction_index) * batch + n) *
           hidden;
  }
};

/// Copies states [batch, hidden] from or to a tensor. from: null for zeros.
template <class T>
struct StartStates {
  SequenceLayout layout;
  const T* from;
  Wide<T>* to;

  TENON_FN void operator()(std::int64_t i) const {
    to[i] = from
                ? static_cast<Wide<T>>(from[layout.state_at(i / layout.hidden) + i % layout.hidden])
                : Wide<T>(0);
  }
};
template <class T>
struct PutStates {
  SequenceLayout layout;
  const Wide<T>* from;
  T* to;
  tenon::Write write = tenon::Write::to;

  TENON_FN void operator()(std::int64_t i) const {
    store(write, to[layout.state_at(i / layout.hidden) + i % layout.hidden], from[i]);
  }
};

/// The results of a step's products: [rows of data, rows] for weight * x, [batch, plain gates *
/// hidden] for recurrent * h, and [batch, hidden].
template <class W>
struct Products {
  const W *weight, *recurrent, *product, *bias;

  template <class Cell>
  TENON_FN UnitSums<W> unit(const SequenceLayout& layout, std::int64_t row, std::int64_t n,
                            std::int64_t k) const {
    return {weight + row * layout.rows,
            recurrent + n * Cell::plain_gates * layout.hidden,
            product + n * layout.hidden,
            bias,
            layout.hidden,
            layout.rows,
            k};
  }
};

/// Values of all steps stored for backward, in data's rows: previous states, sums, and results of
/// reset(). Null: none are stored.
template <class W>
struct SavedValues {
  W *h, *c, *sums, *reset;
};

/// reset[batch, hidden]: the factor of the last rows of recurrent.
template <class W, class Cell>
struct Reset {
  SequenceLayout layout;
  Cell cell;
  std::int64_t step;
  Products<W> products;
  const W* h;
  W* reset;
  SavedValues<W> saved;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto n = i / layout.hidden, k = i % layout.hidden;
    reset[i] = 0;
    if (step >= layout.length(n)) return;
    const auto row = layout.row(layout.time(n, step), n);
    reset[i] =
        cell.unit.reset(cell.sum_of_r(products.template unit<Cell>(layout, row, n, k)), h[i]);
    if (saved.reset) saved.reset[row * layout.hidden + k] = reset[i];
  }
};

template <class T, class Cell>
struct MakeStep {
  using W = Wide<T>;
  SequenceLayout layout;
  Cell cell;
  std::int64_t step;
  Products<W> products;
  W *h, *c;
  SavedValues<W> saved;
  T* output;  ///< null: not requested

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto n = i / layout.hidden, k = i % layout.hidden;
    if (step >= layout.length(n)) return;
    const auto t = layout.time(n, step), row = layout.row(t, n);
    W sums[Cell::saved], none = 0;
    cell.sums(products.template unit<Cell>(layout, row, n, k), sums);
    if (saved.sums) {
      for (int j = 0; j < Cell::saved; ++j)
        saved.sums[(row * Cell::saved + j) * layout.hidden + k] = sums[j];
      saved.h[row * layout.hidden + k] = h[i];
      if constexpr (Cell::has_cell) saved.c[row * layout.hidden + k] = c[i];
    }
    cell.step(sums, k, h[i], Cell::has_cell ? c[i] : none);
    if (output) output[layout.output_at(t, n) + k] = T(h[i]);
  }
};

/// Gradients of sums: of this step, [batch, rows] and [batch, hidden] of the product; and of all
/// steps, in data's rows.
template <class W>
struct SumGradients {
  W *now, *product, *all, *all_recurrent;
};

template <class T, class Cell>
struct BackwardStep {
  using W = Wide<T>;
  SequenceLayout layout;
  Cell cell;
  std::int64_t step;
  SavedValues<W> saved;
  const T* dy;  ///< null: zeros
  W *dh, *dc;
  SumGradients<W> gradients;
  W* extra;  ///< [batch, 3 hidden]; null if the cell has none

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto n = i / layout.hidden, k = i % layout.hidden;
    if (step >= layout.length(n)) {
      for (int gate = 0; gate < Cell::gates; ++gate)
        gradients.now[n * layout.rows + gate * layout.hidden + k] = 0;
      if (Cell::plain_gates < Cell::gates) gradients.product[i] = 0;
      return;
    }
    const auto t = layout.time(n, step), row = layout.row(t, n);
    W sums[Cell::saved];
    for (int j = 0; j < Cell::saved; ++j)
      sums[j] = saved.sums[(row * Cell::saved + j) * layout.hidden + k];
    const W gradient = dh[i] + (dy ? static_cast<W>(dy[layout.output_at(t, n) + k]) : W(0)),
            c = Cell::has_cell ? saved.c[row * layout.hidden + k] : W(0);
    const auto found = cell.backward(sums, k, saved.h[row * layout.hidden + k], c, gradient,
                                     Cell::has_cell ? dc[i] : W(0));
    for (int gate = 0; gate < Cell::gates; ++gate) {
      const auto at = gate * layout.hidden + k;
      gradients.now[n * layout.rows + at] = gradients.all[row * layout.rows + at] =
          found.sums[gate];
    }
    dh[i] = found.h;
    if constexpr (Cell::has_cell) dc[i] = found.c;
    if constexpr (Cell::plain_gates < Cell::gates) gradients.product[i] = found.product;
    for (int j = 0; extra && j < 3; ++j) extra[(n * 3 + j) * layout.hidden + k] += found.extra[j];
  }
};

/// Runs after the gradient of the result of reset() has been computed.
template <class W, class Cell>
struct BackwardReset {
  SequenceLayout layout;
  Cell cell;
  std::int64_t step;
  SavedValues<W> saved;
  const W* dreset;
  W* dh;
  SumGradients<W> gradients;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto n = i / layout.hidden, k = i % layout.hidden;
    if (step >= layout.length(n)) return;
    const auto row = layout.row(layout.time(n, step), n);
    const auto r = layout.hidden + k;
    const auto found = cell.unit.reset_backward(
        saved.sums[(row * Cell::saved + 1) * layout.hidden + k], saved.h[row * layout.hidden + k],
        dreset[i], gradients.now[n * layout.rows + r]);
    gradients.now[n * layout.rows + r] = gradients.all[row * layout.rows + r] = found.r;
    dh[i] += found.h;
    for (int gate = 0; gate < 2; ++gate)
      gradients.all_recurrent[row * layout.rows + gate * layout.hidden + k] =
          gradients.now[n * layout.rows + gate * layout.hidden + k];
    gradients.all_recurrent[row * layout.rows + 2 * layout.hidden + k] = gradients.product[i];
  }
};

/// The sum of a matrix column over `rows` rows, from top to bottom.
template <class T>
struct SumColumn {
  const Wide<T>* from;
  std::int64_t rows, columns;
  T* to;
  tenon::Write write;

  TENON_FN void operator()(std::int64_t column) const {
    Wide<T> sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += from[row * columns + column];
    store(write, to[column], sum);
  }
};

template <class T>
struct StoreEach {
  const Wide<T>* from;
  T* to;
  tenon::Write write;

  TENON_FN void operator()(std::int64_t i) const { store(write, to[i], from[i]); }
};

}  // namespace recurrent
