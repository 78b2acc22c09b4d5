// Batch normalization: normalizes each channel over the batch and the spatial axes.
#pragma once
#include <tenon/operator.hpp>

#include "../../shared/graph_arithmetic.hpp"
#include "shared/axis.hpp"
#include "shared/fits.hpp"
#include "statistics.hpp"

struct BatchNorm : tenon::Operator {
  std::int32_t axis = 1;
  double momentum = 0.9, epsilon = 1e-5;

  static constexpr void describe(auto& op) {
    op.doc(
        "batch normalization: gamma * (data - mean) / sqrt(variance + epsilon) + beta for each "
        "channel, with the batch's mean and "
        "variance in training and the moving ones otherwise");
    op.input("data", "[batch, channels, ...], or another shape with the channels at `axis`");
    op.input("gamma", "[channels]; scale").initial(1);
    op.input("beta", "[channels]; offset").weight();
    op.output("output", "same shape as data");
    op.output("mean", "[channels]; the subtracted mean").hidden();
    op.output("inverse_std", "[channels]; 1 / sqrt(variance + epsilon)").hidden();
    op.state("moving_mean",
             "[channels]; running mean: in training momentum * moving_mean + (1 - momentum) * mean "
             "of the batch");
    op.state("moving_var",
             "[channels]; running variance: in training momentum * moving_var + (1 - momentum) * "
             "biased variance of the batch")
        .initial(1);
    op.param("axis", &BatchNorm::axis, "channel axis; negative axes count from the end")
        .at_least(-8)
        .at_most(7);
    op.param("momentum", &BatchNorm::momentum,
             "fraction of the moving statistics that a training step retains, as in ONNX: 1 minus "
             "torch's momentum")
        .at_least(0)
        .at_most(1);
    op.param("epsilon", &BatchNorm::epsilon, "added to the variance").greater_than(0);
    op.inplace("data", "output");
    op.backward_inplace("output", "data");
    op.takes_channels_last("data", "output");
    op.backward_reads("data", "gamma", "mean", "inverse_std");
    op.accumulates();
    describe_rules(op);
    op.example({{"data", {4, 3}}, {"gamma", {3}}, {"beta", {3}}});
    op.onnx("", "BatchNormalization")
        .since(7)
        .inputs("data", "gamma", "beta", "moving_mean", "moving_var")
        .attribute("epsilon", "epsilon")
        .attribute("momentum", "momentum")
        .only("spatial", 1)
        .only("training_mode", 0);
  }

  // Outside of training, batch_norm is a scale and an offset per channel, which fold into weight
  // and bias of the preceding layer.
#define TENON_SCALE "mul(gamma, rsqrt(quadratic(var; a=0, b=1, c=$e)))"
#define TENON_NORM(inner)                                                   \
  "batch_norm(" inner                                                       \
  ", gamma!, beta!, moving_mean=mean, moving_var=var; axis=1, epsilon=$e, " \
  "...)"
  static constexpr void describe_rules(auto& op) {
    op.rule("into_convolution", TENON_NORM("convolution(x, w!:4, b!; ...inner)"),
            "convolution(x, mul(w, reshape(" TENON_SCALE
            "; shape=[-1, 1, 1, 1])), add(beta, mul(sub(b, mean), " TENON_SCALE ")); ...inner)");
    op.rule(
        "into_convolution_without_bias", TENON_NORM("convolution(x, w!:4; no_bias=true, ...inner)"),
        "convolution(x, mul(w, reshape(" TENON_SCALE
        "; shape=[-1, 1, 1, 1])), sub(beta, mul(mean, " TENON_SCALE ")); no_bias=false, ...inner)");
    op.rule("into_fully_connected",
            TENON_NORM("fully_connected(x, w!, b!; flatten=true, ...inner)"),
            "fully_connected(x, mul(w, reshape(" TENON_SCALE
            "; shape=[-1, 1])), add(beta, mul(sub(b, mean), " TENON_SCALE
            ")); flatten=true, ...inner)");
    op.rule("into_fully_connected_without_bias",
            TENON_NORM("fully_connected(x, w!; no_bias=true, flatten=true, ...inner)"),
            "fully_connected(x, mul(w, reshape(" TENON_SCALE
            "; shape=[-1, 1])), sub(beta, mul(mean, " TENON_SCALE
            ")); no_bias=false, flatten=true, ...inner)");
  }
#undef TENON_NORM
#undef TENON_SCALE

  void infer(tenon::Infer& io) const {
    const auto data = io.input("data");
    if (!data.shape.has_rank()) return;
    require_axis(io, data.shape, axis);
    const tenon::Shape channels{data.shape[axis]};
    for (const char* name : {"gamma", "beta"}) {
      const auto found = io.input(name).shape;
      io.require(fits(found, channels), name, " is ", found, " but data ", data.shape, " needs ",
                 channels);
      io.set_input(name, channels);
    }
    io.set_output(0, data.shape);
    const auto statistics = wide(data.dtype);
    io.set_output(1, channels, statistics);
    io.set_output(2, channels, statistics);
    io.set_state("moving_mean", channels, statistics);
    io.set_state("moving_var", channels, statistics);
  }

  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;
  /// `batch` is 1 in training, where each element changes the statistics, and 0 otherwise, where
  /// they are constant.
  void gradient(tenon::Gradient& g) const {
    GraphArithmetic math(g);
    const int rank = math.rank(g.input(0)), along = axis < 0 ? axis + rank : axis;
    const auto axes = math.axes_of(((1u << rank) - 1) & ~(1u << along));
    std::int64_t dims[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    dims[along] = -1;
    const tenon::Ints shape(dims, static_cast<std::size_t>(rank));
    const auto broadcast = [&](GraphArithmetic::Value value) {
      return g.add("reshape", {value}, {{"shape", shape}});
    };
    const auto x = math.wide(g.input(0)), dy = math.wide(g.output_grad(0)),
               batch = g.add("in_training", {x});
    const auto choose = [&](GraphArithmetic::Value in_training, int used) {
      return math.add(math.mul(batch, in_training),
                      math.mul(math.scaled(batch, -1, 1), broadcast(math.fixed(g.output(used)))));
    };
    const auto centred = math.sub(x, choose(math.mean(x, axes), 1));
    const auto variance = math.mean(g.add("square", {centred}), axes);
    const auto scale = choose(g.add("rsqrt", {math.scaled(variance, 1, epsilon)}), 2);
    const auto normal = math.mul(centred, scale), dy_normal = math.mul(dy, normal);
    const auto moved = math.add(math.mean(dy, axes), math.mul(normal, math.mean(dy_normal, axes)));
    math.set_input_grad(0, math.mul(math.mul(broadcast(math.wide(g.input(1))), scale),
                                    math.sub(dy, math.mul(batch, moved))));
    math.set_input_grad(1, math.sum(dy_normal, axes, false));
    math.set_input_grad(2, math.sum(dy, axes, false));
  }
};
