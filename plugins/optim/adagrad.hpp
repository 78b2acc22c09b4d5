#pragma once
#include <cmath>

#include "optimizer.hpp"

struct AdaGrad : Optimizer {
  double epsilon = 1e-10, weight_decay = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "AdaGrad: weight - learning_rate * gradient / (sqrt(accumulator) + epsilon), as "
        "torch.optim.Adagrad (Duchi, Hazan and Singer, 2011)");
    describe_step(op);
    op.state("accumulator", "same shape as weight; sum of the squared gradients of all steps");
    op.param("epsilon", &AdaGrad::epsilon, "term added to the denominator for numerical stability")
        .at_least(0);
    op.param("weight_decay", &AdaGrad::weight_decay,
             "weight decay (L2 penalty): weight_decay * weight is added to the gradient")
        .at_least(0);
  }

  void infer(tenon::Infer& io) const { infer_step(io, {"accumulator"}); }

  bool may_flush() const { return epsilon >= min_divisor; }
  void forward(const tenon::Call& call) const { step(call, *this); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  template <class W>
  struct Rule {
    W* sum;
    W decay, above_zero, rate = 0;

    TENON_FN void begin(double learning_rate) { rate = static_cast<W>(learning_rate); }
    TENON_FN W operator()(std::int64_t i, W weight, W grad) const {
      const W slope = grad + decay * weight, squares = sum[i] + slope * slope;
      sum[i] = squares;
      return weight - rate * slope / (std::sqrt(squares) + above_zero);
    }
  };
  template <class T>
  Rule<Wide<T>> rule(const tenon::Call& call) const {
    using W = Wide<T>;
    return {moment<T>(call, "accumulator"), static_cast<W>(weight_decay), static_cast<W>(epsilon)};
  }
};
