// A layer of long short-term memory (LSTM).
#pragma once
#include "function.hpp"

/// The computation of one unit. Sums are the arguments of i, o, f and the candidate, without the
/// peephole terms of the first three.
template <class Gate = recurrent::Function, class Candidate = Gate>
struct LstmUnit {
  static constexpr bool vectors = !std::is_same_v<Gate, recurrent::Function>;
  Gate gate;
  Candidate candidate, output;
  bool input_forget;

  template <class W>
  TENON_FN void step(const W (&sums)[4], const W (&peepholes)[3], W& c, W& h) const {
    const W i = gate(sums[0] + peepholes[0] * c);
    const W f = tenon::select(input_forget, 1 - i, gate(sums[2] + peepholes[2] * c));
    c = f * c + i * candidate(sums[3]);
    h = gate(sums[1] + peepholes[1] * c) * output(c);
  }

  template <class W>
  struct Gradients {
    W sums[4], peepholes[3], c;
  };
  /// dh, dc_next: dL/dh and dL/dc after the step; previous_c: c before the step.
  template <class W>
  TENON_FN Gradients<W> backward(const W (&sums)[4], const W (&peepholes)[3], W previous_c, W dh,
                                 W dc_next) const {
    const W in = sums[0] + peepholes[0] * previous_c, in_f = sums[2] + peepholes[2] * previous_c;
    const W i = gate(in), f = tenon::select(input_forget, 1 - i, gate(in_f)),
            g = candidate(sums[3]);
    const W c = f * previous_c + i * g, in_o = sums[1] + peepholes[1] * c;
    const W d_o = dh * output(c) * gate.slope(in_o);
    const W dc = dc_next + dh * gate(in_o) * output.slope(c) + d_o * peepholes[1],
            df = dc * previous_c;
    const W d_i = (dc * g - tenon::select(input_forget, df, W(0))) * gate.slope(in),
            d_f = tenon::select(input_forget, W(0), df * gate.slope(in_f));
    return {{d_i, d_o, d_f, dc * i * candidate.slope(sums[3])},
            {d_i * previous_c, d_o * c, d_f * previous_c},
            dc * f + d_i * peepholes[0] + d_f * peepholes[2]};
  }
};

struct LstmLayer : Recurrent {
  bool input_forget = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "long short-term memory (LSTM), as in ONNX: c = f * c + i * tanh(W_c x + R_c h + b_c), h = "
        "o * tanh(c) with gates i, o, f = sigmoid(W x + R h + b) for each step; W: weight, R: "
        "recurrent, b: sum of both biases");
    describe_inputs(op,
                    "[directions, 4 * hidden, features]; rows of i (input gate), o (output gate), "
                    "f (forget gate) and c (new cell)");
    op.input("initial_c", "same shape as initial_h; initial cell state; default: 0").optional();
    op.input("peepholes",
             "[directions, 3 * hidden]; peephole weights, by which the cell state enters the gates "
             "i, o and f; default: 0")
        .optional();
    describe_outputs(op);
    op.output("last_c", "same shape as initial_h; final cell state of each sample");
    describe_parameters(op);
    op.backward_reads("data", "weight", "recurrent", "bias", "lengths", "initial_h", "initial_c",
                      "peepholes");
    op.param("input_forget", &LstmLayer::input_forget,
             "couple the input and forget gates: f = 1 - i");
    op.example({{"data", {3, 2, 4}},
                {"weight", {1, 20, 4}},
                {"recurrent", {1, 20, 5}},
                {"bias", {1, 40}}});
    describe_onnx(op.onnx("", "LSTM")
                      .since(7)
                      .inputs("data", "weight", "recurrent", "bias", "lengths", "initial_h",
                              "initial_c", "peepholes")
                      .outputs("output", "last_h", "last_c")
                      .attribute("input_forget", "input_forget"));
  }

  void infer(tenon::Infer& io) const {
    infer_tensors(io, 4, 3);
    const auto state = io.output(1).shape;
    io.set_output(2, state);
    if (!state.has_rank()) return;
    if (io.has_input("initial_c")) require_fit(io, "initial_c", state);
    const auto hidden = state[2];
    if (io.has_input("peepholes"))
      require_fit(io, "peepholes", {directions(), hidden == tenon::unknown ? hidden : 3 * hidden});
  }

 protected:
  LstmUnit<> unit_of(std::int64_t direction_index) const {
    const auto functions = recurrent::functions_of(*this, 3);
    const auto* const own = &functions[static_cast<std::size_t>(3 * direction_index)];
    LstmUnit<> unit{own[0], own[1], own[2], input_forget};
    unit.output.clip = 0;  // of cells: onnxruntime does not clip them
    return unit;
  }
};
