#pragma once
#include "heavy_ball.hpp"

struct Momentum : HeavyBall {
  static constexpr void describe(auto& op) {
    op.doc("gradient descent with momentum: weight - learning_rate * velocity (Polyak, 1964)");
    describe_ball(op);
  }

  void forward(const tenon::Call& call) const { step(call, *this); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  template <class T>
  auto rule(const tenon::Call& call) const {
    return ball_rule<T, false>(call);
  }
};
