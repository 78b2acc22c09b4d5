#pragma once
#include <cmath>

#include "optimizer.hpp"

struct RmsProp : Optimizer {
  double alpha = 0.99, epsilon = 1e-8, weight_decay = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "RMSProp: weight - learning_rate * gradient / (sqrt(square_average) + epsilon), as "
        "torch.optim.RMSprop (Tieleman and Hinton, lecture 6.5 of Neural Networks, 2012)");
    describe_step(op);
    op.state("square_average",
             "same shape as weight; exponential moving average of the squared gradients: alpha * "
             "square_average + (1 - alpha) * gradient^2");
    op.param("alpha", &RmsProp::alpha, "decay rate of square_average").at_least(0).at_most(1);
    op.param("epsilon", &RmsProp::epsilon, "term added to the denominator for numerical stability")
        .at_least(0);
    op.param("weight_decay", &RmsProp::weight_decay,
             "weight decay (L2 penalty): weight_decay * weight is added to the gradient")
        .at_least(0);
  }

  void infer(tenon::Infer& io) const { infer_step(io, {"square_average"}); }

  bool may_flush() const { return epsilon >= min_divisor; }
  void forward(const tenon::Call& call) const { step(call, *this); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  template <class W>
  struct Rule {
    W* average;
    W decay, keep, take, above_zero, rate = 0;

    TENON_FN void begin(double learning_rate) { rate = static_cast<W>(learning_rate); }
    TENON_FN W operator()(std::int64_t i, W weight, W grad) const {
      const W slope = grad + decay * weight, square = keep * average[i] + take * slope * slope;
      average[i] = square;
      return weight - rate * slope / (std::sqrt(square) + above_zero);
    }
  };
  template <class T>
  Rule<Wide<T>> rule(const tenon::Call& call) const {
    using W = Wide<T>;
    return {moment<T>(call, "square_average"), static_cast<W>(weight_decay), static_cast<W>(alpha),
            static_cast<W>(1 - alpha), static_cast<W>(epsilon)};
  }
};
