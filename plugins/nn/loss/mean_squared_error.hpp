// Mean squared error.
#pragma once
#include <tenon/operator.hpp>

#include "../../shared/graph_arithmetic.hpp"
#include "reduction.hpp"
#include "shared/fits.hpp"

struct MeanSquaredError : Loss {
  static constexpr void describe(auto& op) {
    op.doc(
        "mean squared error: (prediction - target)^2, reduced over all elements "
        "(torch.nn.MSELoss)");
    op.input("prediction", "any shape");
    op.input("target", "same shape as prediction");
    op.output("loss", "scalar; same shape as prediction if `reduction` is none");
    describe_reduction(op,
                       "reduction of the losses of all elements: mean or sum (0 for no elements), "
                       "or none: one loss per element");
    op.backward_reads("prediction", "target");
    op.example({{"prediction", {2, 3}}, {"target", {2, 3}}});
  }

  void infer(tenon::Infer& io) const {
    if (reduction != Reduction::none) io.set_output(0, tenon::Shape::scalar());
    const auto prediction = io.input("prediction").shape, target = io.input("target").shape;
    const auto& known = prediction.has_rank() ? prediction : target;
    if (!known.has_rank()) return;
    io.require(fits(prediction, target), "prediction is ", prediction, " but target is ", target,
               ": the shapes must be equal");
    io.set_input("prediction", known);
    io.set_input("target", io.input("prediction").shape);
    io.set_input("prediction", io.input("target").shape);
    if (reduction == Reduction::none) io.set_output(0, io.input("prediction").shape);
  }

  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;
  void gradient(tenon::Gradient& g) const {
    GraphArithmetic math(g);
    const auto prediction = math.wide(g.input(0));
    const auto difference = math.sub(prediction, math.wide(g.input(1))),
               slope = math.add(difference, difference);
    const auto by_prediction =
        math.mul(slope, weighted(g, math.wide(g.output_grad(0)), g.ones_like(prediction)));
    math.set_input_grad(0, by_prediction);
    math.set_input_grad(1, math.neg(by_prediction));
  }
};
