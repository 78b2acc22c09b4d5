// Dropout: a random operator with a hidden output for backward, and different results in training
// and inference.
#pragma once
#include <tenon/operator.hpp>

struct Dropout : tenon::Operator {
  float p = 0.5f;

  static constexpr void describe(auto& op) {
    op.doc(
        "dropout: in training, zeros each element with probability p and scales the others by "
        "1/(1-p); otherwise the identity");
    op.types({tenon::f32});
    op.input("data", "any shape");
    op.output("output", "same shape as data");
    op.output("mask", "same shape as data; 0 or 1/(1-p) for each element").hidden();
    op.param("p", &Dropout::p, "probability of zeroing an element").at_least(0).less_than(1);
    op.inplace("data", "output");
    op.backward_inplace("output", "data");
    op.backward_reads("mask");
    op.uses_random();
    op.exact_rule("inference", "dropout(data; ...)", "data");
    op.example({{"data", {2, 3}}}, {{"p", 0.25}});
    op.onnx("", "Dropout").since(7).until(11).attribute("ratio", "p");
    op.onnx("", "Dropout").since(12).input_as("p", 1).ignore("seed");
  }

  void infer(tenon::Infer& io) const {
    io.set_output(0, io.input(0).shape);
    io.set_output(1, io.input(0).shape);
  }

  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;
  void gradient(tenon::Gradient& g) const {
    g.set_input_grad(0, g.add("mul", {g.output_grad(0), g.add("stop_gradient", {g.output(1)})}));
  }
};
