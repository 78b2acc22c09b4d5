#include <cmath>

#include "optimizer.hpp"

struct AdaGrad : Optimizer {
  double epsilon = 1e-10, weight_decay = 0;

  static constexpr void describe(auto& op) {
    op.doc("AdaGrad: the gradient over the root of the sum of all its squares so far (Duchi, Hazan and Singer, 2011)");
    describe_step(op);
    op.state("accumulator", "sum of the gradients' squares");
    op.param("epsilon", &AdaGrad::epsilon, "added to the root, so that nothing is divided by zero").at_least(0);
    op.param("weight_decay", &AdaGrad::weight_decay, "share of the weight that is added to its gradient").at_least(0);
  }

  void infer(tenon::Infer& io) const { infer_step(io, {"accumulator"}); }

  void forward(const tenon::Call& call) const {
    visit(call, [&]<class T>() {
      using W = Wide<T>;
      const W rate = static_cast<W>(learning_rate(call)), decay = static_cast<W>(weight_decay), above_zero = static_cast<W>(epsilon);
      W* const sum = moment<T>(call, "accumulator");
      for_each_weight<T>(call, [=](std::int64_t i, W weight, W grad) {
        const W slope = grad + decay * weight, squares = sum[i] + slope * slope;
        sum[i] = squares;
        return weight - rate * slope / (std::sqrt(squares) + above_zero);
      });
    });
  }
  void forward_sparse(const tenon::Call& call) const { forward(call); }
};
TENON_OPERATOR(adagrad, AdaGrad)
