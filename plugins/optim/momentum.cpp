#include "heavy_ball.hpp"

struct Momentum : HeavyBall {
  static constexpr void describe(auto& op) {
    op.doc("gradient descent with momentum: weight - learning_rate * velocity (Polyak, 1964)");
    describe_ball(op);
  }

  void forward(const tenon::Call& call) const { run<false>(call); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }
};
TENON_OPERATOR(momentum, Momentum)
