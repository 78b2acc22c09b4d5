// A plain recurrent layer.
#pragma once
#include "function.hpp"

struct RnnLayer : Recurrent {
  constexpr RnnLayer() {
    activations = {"Tanh", "Tanh"};
  }  // ONNX's defaults; a single direction uses the first one

  static constexpr void describe(auto& op) {
    op.doc(
        "recurrent layer (RNN), as in ONNX: h = tanh(W x + R h + b) for each step; W: weight, R: "
        "recurrent, b: sum of both biases");
    describe_inputs(op, "[directions, hidden, features]");
    describe_outputs(op);
    describe_parameters(op);
    op.backward_reads("data", "weight", "recurrent", "bias", "lengths", "initial_h");
    op.example(
        {{"data", {3, 2, 4}}, {"weight", {1, 5, 4}}, {"recurrent", {1, 5, 5}}, {"bias", {1, 10}}});
    describe_onnx(op.onnx("", "RNN")
                      .since(7)
                      .inputs("data", "weight", "recurrent", "bias", "lengths", "initial_h")
                      .outputs("output", "last_h"));
  }

  void infer(tenon::Infer& io) const { infer_tensors(io, 1, 1); }

 protected:
  recurrent::Function unit_of(std::int64_t direction_index) const {
    return recurrent::functions_of(*this, 1)[static_cast<std::size_t>(direction_index)];
  }
};
