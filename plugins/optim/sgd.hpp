#pragma once
#include "optimizer.hpp"

struct Sgd : Optimizer {
  double weight_decay = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "stochastic gradient descent: weight - learning_rate * (grad + weight_decay * weight) "
        "(Robbins and Monro, 1951)");
    describe_step(op);
    op.param("weight_decay", &Sgd::weight_decay,
             "weight decay (L2 penalty): weight_decay * weight is added to the gradient")
        .at_least(0);
  }

  void infer(tenon::Infer& io) const { infer_step(io); }

  void forward(const tenon::Call& call) const { step(call, *this); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  template <class W>
  struct Rule {
    W decay, rate = 0;

    TENON_FN void begin(double learning_rate) { rate = static_cast<W>(learning_rate); }
    TENON_FN W operator()(std::int64_t, W weight, W grad) const {
      return weight - rate * (grad + decay * weight);
    }
  };
  template <class T>
  Rule<Wide<T>> rule(const tenon::Call&) const {
    return {static_cast<Wide<T>>(weight_decay)};
  }
};
