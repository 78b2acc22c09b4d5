// What adam and adamw share: running means of the gradient and of its square, both corrected for having begun at zero.
#pragma once
#include <cmath>

#include "optimizer.hpp"

struct AdaptiveMoments : Optimizer {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

  void infer(tenon::Infer& io) const {
    infer_step(io, {"m", "v"});
    io.set_state("steps", tenon::Shape::scalar(), tenon::i64);
  }

 protected:
  static constexpr void describe_moments(auto& op) {
    describe_step(op);
    op.state("m", "running mean of the gradients: in each step becomes beta1 * itself + (1 - beta1) * gradient");
    op.state("v", "running mean of their squares, by beta2");
    op.state("steps", "0-d int64, steps so far");
    op.param("beta1", &AdaptiveMoments::beta1, "share of m that a step keeps").at_least(0).less_than(1);
    op.param("beta2", &AdaptiveMoments::beta2, "share of v that a step keeps").at_least(0).less_than(1);
    op.param("epsilon", &AdaptiveMoments::epsilon, "added to the root of v, so that nothing is divided by zero").at_least(0);
  }

  /// added: share of the weight that is added to its gradient; taken: share that is taken off the weight, times the learning rate.
  void run(const tenon::Call& call, double added, double taken) const {
    const auto step = static_cast<double>(++call.state<std::int64_t>("steps")[0]);
    const double rate = learning_rate(call), correction1 = 1 - std::pow(beta1, step), correction2 = 1 - std::pow(beta2, step);
    visit(call, [&]<class T>() {
      using W = Wide<T>;
      W *const m = moment<T>(call, "m"), *const v = moment<T>(call, "v");
      const W keep1 = static_cast<W>(beta1), keep2 = static_cast<W>(beta2), take1 = static_cast<W>(1 - beta1),
              take2 = static_cast<W>(1 - beta2), scale = static_cast<W>(rate / correction1),
              unbias = static_cast<W>(1 / std::sqrt(correction2)), above_zero = static_cast<W>(epsilon), decay = static_cast<W>(added),
              kept = static_cast<W>(1 - rate * taken);
      for_each_weight<T>(call, [=](std::int64_t i, W weight, W grad) {
        const W slope = grad + decay * weight;
        const W mean = keep1 * m[i] + take1 * slope, square = keep2 * v[i] + take2 * slope * slope;
        m[i] = mean;
        v[i] = square;
        return kept * weight - scale * mean / (std::sqrt(square) * unbias + above_zero);
      });
    });
  }
};
