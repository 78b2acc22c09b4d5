// A layer of gated recurrent units (GRU).
#pragma once
#include "function.hpp"

/// The computation of one unit. sums: the arguments of z and r, the argument of the candidate
/// without its product with recurrent, and that product.
template <class Gate = recurrent::Function, class Candidate = Gate>
struct GruUnit {
  static constexpr bool vectors = !std::is_same_v<Gate, recurrent::Function>;
  Gate gate;
  Candidate candidate;
  bool linear_before_reset;

  /// Returns the vector element that recurrent multiplies for the candidate: h or r * h.
  template <class W>
  TENON_FN W reset(W sum_of_r, W h) const {
    return tenon::select(linear_before_reset, h, gate(sum_of_r) * h);
  }
  template <class W>
  TENON_FN W step(const W (&sums)[4], W h) const {
    const W z = gate(sums[0]);
    return (1 - z) * candidate(argument(sums)) + z * h;
  }

  template <class W>
  struct Gradients {
    W z, r, candidate, product;  ///< dL/dsums; r: valid only with linear_before_reset
    W h;                         ///< dL/dh before the step, without the part through the sums
  };
  /// h: the state before the step; dh: dL/dh after the step.
  template <class W>
  TENON_FN Gradients<W> backward(const W (&sums)[4], W h, W dh) const {
    const W z = gate(sums[0]), in = argument(sums), d = dh * (1 - z) * candidate.slope(in);
    return {dh * (h - candidate(in)) * gate.slope(sums[0]), d * sums[3] * gate.slope(sums[1]), d,
            d * factor(sums), dh * z};
  }

  template <class W>
  struct ResetGradients {
    W r, h;  ///< dL/d(sum of r), and the part of dL/dh that flows through reset()
  };
  /// dreset: dL/d(result of reset()); dr: dL/d(sum of r) of backward().
  template <class W>
  TENON_FN ResetGradients<W> reset_backward(W sum_of_r, W h, W dreset, W dr) const {
    return {tenon::select(linear_before_reset, dr, dreset * h * gate.slope(sum_of_r)),
            tenon::select(linear_before_reset, dreset, dreset * gate(sum_of_r))};
  }

 private:
  template <class W>
  TENON_FN W factor(const W (&sums)[4]) const {
    return tenon::select(linear_before_reset, gate(sums[1]), W(1));
  }
  template <class W>
  TENON_FN W argument(const W (&sums)[4]) const {
    return sums[2] + factor(sums) * sums[3];
  }
};

struct GruLayer : Recurrent {
  bool linear_before_reset = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "gated recurrent unit (GRU), as in ONNX: h = (1 - z) * tanh(W_h x + R_h (r * h) + b_h) + z "
        "* h with gates z, r = sigmoid(W x + R h + b) for each step; W: weight, R: recurrent, b: "
        "sum of both biases");
    describe_inputs(op,
                    "[directions, 3 * hidden, features]; rows of z (update gate), r (reset gate) "
                    "and h (new state)");
    describe_outputs(op);
    describe_parameters(op);
    op.backward_reads("data", "weight", "recurrent", "bias", "lengths", "initial_h");
    op.param("linear_before_reset", &GruLayer::linear_before_reset,
             "multiply r by the product of recurrent and h plus its bias, as torch.nn.GRU; false: "
             "multiply r by h before the product");
    op.example({{"data", {3, 2, 4}},
                {"weight", {1, 15, 4}},
                {"recurrent", {1, 15, 5}},
                {"bias", {1, 30}}});
    describe_onnx(op.onnx("", "GRU")
                      .since(7)
                      .inputs("data", "weight", "recurrent", "bias", "lengths", "initial_h")
                      .outputs("output", "last_h")
                      .attribute("linear_before_reset", "linear_before_reset"));
  }

  void infer(tenon::Infer& io) const { infer_tensors(io, 3, 2); }

 protected:
  GruUnit<> unit_of(std::int64_t direction_index) const {
    const auto functions = recurrent::functions_of(*this, 2);
    return {functions[static_cast<std::size_t>(2 * direction_index)],
            functions[static_cast<std::size_t>(2 * direction_index + 1)], linear_before_reset};
  }
};
