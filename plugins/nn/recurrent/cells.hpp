// The cells of the recurrent operators for CUDA kernels: one unit of one sample at a time.
#pragma once
#include "gru.hpp"
#include "lstm.hpp"
#include "rnn.hpp"
#include "shared/store.hpp"

namespace recurrent {

/// The sums of a unit's products: [.., rows] of weight * x and of recurrent * h, and of the product
/// with the result of reset().
template <class W>
struct UnitSums {
  const W *weight, *recurrent, *product, *bias;  ///< bias: null, or [2 rows]
  std::int64_t hidden, rows, k;

  TENON_FN W of_weight(int gate) const {
    return weight[gate * hidden + k] + (bias ? bias[gate * hidden + k] : W(0));
  }
  TENON_FN W of_recurrent(int gate) const {
    return recurrent[gate * hidden + k] + (bias ? bias[rows + gate * hidden + k] : W(0));
  }
  TENON_FN W of_product(int gate) const {
    return product[k] + (bias ? bias[rows + gate * hidden + k] : W(0));
  }
};

/// The gradients of one step for its unit.
template <class W>
struct UnitGradients {
  W sums[4] = {}, product = 0, h = 0, c = 0,
    extra[3] = {};  ///< h: without the part that flows through recurrent
};

// Each cell declares: the number of gates and of sums stored for backward; the number of gates that
// multiply h itself. The result of reset() is multiplied by the rows of the last gate.

template <class W>
struct RnnCell {
  static constexpr int gates = 1, saved = 1, plain_gates = 1;
  static constexpr bool has_cell = false;
  Function function;

  TENON_FN void sums(const UnitSums<W>& from, W (&to)[saved]) const {
    to[0] = from.of_weight(0) + from.of_recurrent(0);
  }
  TENON_FN void step(const W (&sums)[saved], std::int64_t, W& h, W&) const {
    h = function(sums[0]);
  }
  TENON_FN UnitGradients<W> backward(const W (&sums)[saved], std::int64_t, W, W, W dh, W) const {
    UnitGradients<W> gradients;
    gradients.sums[0] = dh * function.slope(sums[0]);
    return gradients;
  }
};

template <class W>
struct LstmCell {
  static constexpr int gates = 4, saved = 4, plain_gates = 4;
  static constexpr bool has_cell = true;
  LstmUnit<> unit;
  const W* peepholes;  ///< null, or [3 hidden]
  std::int64_t hidden;

  struct Peepholes {
    W of[3];
  };
  TENON_FN Peepholes peepholes_of(std::int64_t k) const {
    if (!peepholes) return {{W(0), W(0), W(0)}};
    return {{peepholes[k], peepholes[hidden + k], peepholes[2 * hidden + k]}};
  }
  TENON_FN void sums(const UnitSums<W>& from, W (&to)[saved]) const {
    for (int gate = 0; gate < gates; ++gate)
      to[gate] = from.of_weight(gate) + from.of_recurrent(gate);
  }
  TENON_FN void step(const W (&sums)[saved], std::int64_t k, W& h, W& c) const {
    unit.step(sums, peepholes_of(k).of, c, h);
  }
  TENON_FN UnitGradients<W> backward(const W (&sums)[saved], std::int64_t k, W, W c, W dh,
                                     W dc) const {
    const auto found = unit.backward(sums, peepholes_of(k).of, c, dh, dc);
    UnitGradients<W> gradients;
    for (int i = 0; i < 4; ++i) gradients.sums[i] = found.sums[i];
    for (int i = 0; i < 3; ++i) gradients.extra[i] = found.peepholes[i];
    gradients.c = found.c;
    return gradients;
  }
};

template <class W>
struct GruCell {
  static constexpr int gates = 3, saved = 4, plain_gates = 2;
  static constexpr bool has_cell = false;
  GruUnit<> unit;

  TENON_FN void sums(const UnitSums<W>& from, W (&to)[saved]) const {
    to[0] = from.of_weight(0) + from.of_recurrent(0);
    to[1] = sum_of_r(from);
    to[2] = from.of_weight(2);
    to[3] = from.of_product(2);
  }
  TENON_FN W sum_of_r(const UnitSums<W>& from) const {
    return from.of_weight(1) + from.of_recurrent(1);
  }
  TENON_FN void step(const W (&sums)[saved], std::int64_t, W& h, W&) const {
    h = unit.step(sums, h);
  }
  TENON_FN UnitGradients<W> backward(const W (&sums)[saved], std::int64_t, W h, W, W dh, W) const {
    const auto found = unit.backward(sums, h, dh);
    UnitGradients<W> gradients;
    gradients.sums[0] = found.z, gradients.sums[1] = found.r, gradients.sums[2] = found.candidate;
    gradients.product = found.product, gradients.h = found.h;
    return gradients;
  }
};

}  // namespace recurrent
