#pragma once
#include "heavy_ball.hpp"

struct Nesterov : HeavyBall {
  static constexpr void describe(auto& op) {
    op.doc(
        "Nesterov's accelerated gradient: weight - learning_rate * (gradient + momentum * velocity) (Nesterov, 1983; in this form "
        "Sutskever, Martens, Dahl and Hinton, 2013)");
    describe_ball(op);
  }

  void forward(const tenon::Call& call) const { step(call, *this); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  template <class T>
  auto rule(const tenon::Call& call) const {
    return ball_rule<T, true>(call);
  }
};
