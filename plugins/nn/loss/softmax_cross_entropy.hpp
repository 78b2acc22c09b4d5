// Softmax and the negative log-likelihood of the true class, fused for numerical stability.
#pragma once
#include <tenon/operator.hpp>

#include "../../shared/graph_arithmetic.hpp"
#include "reduction.hpp"
#include "shared/fits.hpp"

struct SoftmaxCrossEntropy : Loss {
  static constexpr void describe(auto& op) {
    op.doc(
        "cross-entropy loss: -log(softmax(logits)[label]) for each sample, reduced over the "
        "samples (torch.nn.CrossEntropyLoss)");
    op.input("logits", "[samples, classes]");
    op.input("labels", "[samples]; class indices from 0 to classes - 1").types(tenon::integral);
    op.output("loss", "scalar; [samples] if `reduction` is none");
    op.output("probabilities", "[samples, classes]; softmax of logits").hidden();
    describe_reduction(op,
                       "reduction of the losses of all samples: mean or sum (0 for no samples), or "
                       "none: one loss per sample");
    op.backward_reads("labels", "probabilities");
    op.example({{"logits", {2, 3}}, {"labels", {2}, tenon::i64, {2, 0}}});
  }

  void infer(tenon::Infer& io) const {
    const auto logits = io.input("logits").shape, labels = io.input("labels").shape;
    if (reduction != Reduction::none) io.set_output(0, tenon::Shape::scalar());
    if (!logits.has_rank()) return;
    io.require(logits.rank() == 2, "logits is ", logits,
               " but needs two dimensions: [samples, classes]");
    io.require(logits[1] != 0, "logits is ", logits, " but needs at least one class");
    const tenon::Shape needed{logits[0]};
    io.require(fits(labels, needed), "labels is ", labels, " but logits ", logits, " needs ",
               needed);
    io.set_input("labels", needed);
    if (reduction == Reduction::none) io.set_output(0, {logits[0]});
    io.set_output(1, logits);
  }

  void forward(const tenon::Call& call) const;
  void backward(const tenon::Call& call) const;
  void gradient(tenon::Gradient& g) const {
    GraphArithmetic math(g);
    const auto logits = math.wide(g.input(0));
    const auto type = g.type(logits);
    if (!type.shape.has_rank() || type.shape[1] == tenon::unknown)
      throw tenon::Error(
          "the second derivative of softmax_cross_entropy needs a known number of classes, but "
          "logits is ",
          type.shape);
    const auto labelled = g.add("one_hot", {g.input(1)},
                                {{"depth", type.shape[1]}, {"dtype", tenon::name_of(type.dtype)}});
    auto dy = weighted(g, math.wide(g.output_grad(0)), labelled);
    if (reduction == Reduction::none) dy = g.add("expand_dims", {dy}, {{"axis", tenon::Ints{1}}});
    math.set_input_grad(0, math.mul(math.sub(g.add("softmax", {logits}), labelled), dy));
  }
};
