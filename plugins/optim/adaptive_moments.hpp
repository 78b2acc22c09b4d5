// Shared by adam and adamw: bias-corrected running means of the gradient and of its square.
#pragma once
#include <cmath>

#include "optimizer.hpp"

template <class W>
struct MomentsRule {
  W *m, *v;
  W keep1, keep2, take1, take2, above_zero, decay;
  double beta1, beta2, taken;
  W scale = 0, unbias = 0, weight_factor = 0;

  /// Computes the coefficients of step `step`, counted from 1.
  TENON_FN void begin(double learning_rate, double step) {
    const double correction1 = 1 - std::pow(beta1, step), correction2 = 1 - std::pow(beta2, step);
    scale = static_cast<W>(learning_rate / correction1);
    unbias = static_cast<W>(1 / std::sqrt(correction2));
    weight_factor = static_cast<W>(1 - learning_rate * taken);
  }
  TENON_FN W operator()(std::int64_t i, W weight, W grad) const {
    const W slope = grad + decay * weight;
    const W mean = keep1 * m[i] + take1 * slope, square = keep2 * v[i] + take2 * slope * slope;
    m[i] = mean;
    v[i] = square;
    return weight_factor * weight - scale * mean / (std::sqrt(square) * unbias + above_zero);
  }
};

struct AdaptiveMoments : Optimizer {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

  void infer(tenon::Infer& io) const {
    infer_step(io, {"m", "v"});
    io.set_state("steps", tenon::Shape::scalar(), tenon::i64);
  }

  bool may_flush() const { return epsilon >= min_divisor; }

 protected:
  static constexpr void describe_moments(auto& op) {
    describe_step(op);
    op.state("m",
             "same shape as weight; first moment, the exponential moving average of the gradients: "
             "beta1 * m + (1 - beta1) * gradient");
    op.state("v",
             "same shape as weight; second moment, the exponential moving average of the squared "
             "gradients: beta2 * v + (1 - beta2) * gradient^2");
    op.state("steps", "int64 scalar; number of steps so far");
    op.param("beta1", &AdaptiveMoments::beta1, "decay rate of m").at_least(0).less_than(1);
    op.param("beta2", &AdaptiveMoments::beta2, "decay rate of v").at_least(0).less_than(1);
    op.param("epsilon", &AdaptiveMoments::epsilon,
             "term added to the denominator for numerical stability")
        .at_least(0);
  }

  /// `added` is the weight decay that is added to the gradient; `taken` is the decoupled weight
  /// decay, which is multiplied by the learning rate.
  template <class T>
  MomentsRule<Wide<T>> moments_rule(const tenon::Call& call, double added, double taken) const {
    using W = Wide<T>;
    return {moment<T>(call, "m"),
            moment<T>(call, "v"),
            static_cast<W>(beta1),
            static_cast<W>(beta2),
            static_cast<W>(1 - beta1),
            static_cast<W>(1 - beta2),
            static_cast<W>(epsilon),
            static_cast<W>(added),
            beta1,
            beta2,
            taken};
  }

  template <class Op>
  static void count_step(const tenon::Call& call, const Op& op) {
    step(call, op, static_cast<double>(++call.state<std::int64_t>("steps")[0]));
  }
};

struct Adam : AdaptiveMoments {
  double weight_decay = 0;

  static constexpr void describe(auto& op) {
    op.doc(
        "Adam: weight - learning_rate * m / (1 - beta1^steps) / (sqrt(v / (1 - beta2^steps)) + "
        "epsilon), as torch.optim.Adam (Kingma and Ba, 2015)");
    describe_moments(op);
    op.param("weight_decay", &Adam::weight_decay,
             "weight decay (L2 penalty): weight_decay * weight is added to the gradient")
        .at_least(0);
  }

  void forward(const tenon::Call& call) const { count_step(call, *this); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  template <class T>
  auto rule(const tenon::Call& call) const {
    return moments_rule<T>(call, weight_decay, 0);
  }
};

struct AdamW : AdaptiveMoments {
  double weight_decay = 0.01;

  static constexpr void describe(auto& op) {
    op.doc(
        "AdamW: Adam with decoupled weight decay, as torch.optim.AdamW (Loshchilov and Hutter, "
        "2019)");
    describe_moments(op);
    op.param("weight_decay", &AdamW::weight_decay,
             "decoupled weight decay: a step subtracts learning_rate * weight_decay * weight")
        .at_least(0);
  }

  void forward(const tenon::Call& call) const { count_step(call, *this); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  template <class T>
  auto rule(const tenon::Call& call) const {
    return moments_rule<T>(call, 0, weight_decay);
  }
};
