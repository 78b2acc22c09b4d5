// Layer normalization: normalizes each sample separately, the same in training and inference.
#pragma once
#include <tenon/operator.hpp>

#include "../../shared/graph_arithmetic.hpp"
#include "shared/axis.hpp"
#include "shared/fits.hpp"
#include "statistics.hpp"

struct LayerNorm : tenon::Operator {
  std::int32_t axis = -1;
  double epsilon = 1e-5;

  static constexpr void describe(auto& op) {
    op.doc(
        "layer normalization: gamma * (data - mean) / sqrt(variance + epsilon) + beta, with mean "
        "and variance over the axes from `axis` "
        "to the last");
    op.input("data", "at least one dimension");
    op.input("gamma", "sizes of data from `axis` to the last; scale").initial(1);
    op.input("beta", "sizes of data from `axis` to the last; offset").weight();
    op.output("output", "same shape as data");
    op.output("mean", "sizes of data before `axis`; the subtracted mean").hidden();
    op.output("inverse_std", "sizes of data before `axis`; 1 / sqrt(variance + epsilon)").hidden();
    op.param("axis", &LayerNorm::axis,
             "first of the axes to normalize over; negative axes count from the end")
        .at_least(-8)
        .at_most(7);
    op.param("epsilon", &LayerNorm::epsilon, "added to the variance").greater_than(0);
    op.inplace("data", "output");
    op.backward_inplace("output", "data");
    op.backward_reads("data", "gamma", "mean", "inverse_std");
    op.accumulates();
    op.example({{"data", {2, 3}}, {"gamma", {3}}, {"beta", {3}}});
    op.onnx("", "LayerNormalization")
        .since(17)
        .attribute("axis", "axis")
        .attribute("epsilon", "epsilon")
        .only("stash_type", 1);
  }

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data");
    if (!data.shape.has_rank()) return;
    require_axis(io, data.shape, axis);
    const int split = axis < 0 ? axis + data.shape.rank() : axis;
    const tenon::Shape leading(data.shape.begin(), split),
        after(data.shape.begin() + split, data.shape.rank() - split);
    for (const char* name : {"gamma", "beta"}) {
      const auto found = io.input(name).shape;
      io.require(fits(found, after), name, " is ", found, " but data ", data.shape, " needs ",
                 after);
      io.set_input(name, after);
    }
    const auto statistics = wide(data.dtype);
    io.set_output(0, data.shape);
    io.set_output(1, leading, statistics);
    io.set_output(2, leading, statistics);
  }

  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;
  void gradient(tenon::Gradient& g) const {
    GraphArithmetic math(g);
    const int rank = math.rank(g.input(0)), first = axis < 0 ? axis + rank : axis;
    const auto axes = math.axes_of((1u << rank) - (1u << first));
    const auto x = math.wide(g.input(0)), gamma = math.wide(g.input(1)),
               dy = math.wide(g.output_grad(0));
    const auto centred = math.sub(x, math.mean(x, axes));
    const auto variance = math.mean(g.add("square", {centred}), axes);
    const auto scale = g.add("rsqrt", {math.scaled(variance, 1, epsilon)});
    const auto normal = math.mul(centred, scale), slope = math.mul(dy, gamma);
    const auto moved = math.add(math.mean(slope, axes),
                                math.mul(normal, math.mean(math.mul(slope, normal), axes)));
    math.set_input_grad(0, math.mul(scale, math.sub(slope, moved)));
    math.set_input_grad(1, g.sum_like(math.mul(dy, normal), gamma));
    math.set_input_grad(2, g.sum_like(dy, gamma));
  }

  /// Elements that are normalized together.
  struct Rows {
    std::int64_t count, size;
  };

  Rows rows_of(const tenon::Shape& data) const {
    const auto along = Axis::of(data, axis);
    return {along.outer, along.length * along.inner};
  }
};
