// Shared by momentum and nesterov: a velocity, the exponentially decaying sum of the gradients.
#pragma once
#include "optimizer.hpp"

template <class W, bool nesterov>
struct BallRule {
  W* velocity;
  W decay, keep, rate = 0;

  TENON_FN void begin(double learning_rate) { rate = static_cast<W>(learning_rate); }
  TENON_FN W operator()(std::int64_t i, W weight, W grad) const {
    const W slope = grad + decay * weight, speed = keep * velocity[i] + slope;
    velocity[i] = speed;
    return weight - rate * (nesterov ? slope + keep * speed : speed);
  }
};

struct HeavyBall : Optimizer {
  double momentum = 0.9, weight_decay = 0;

  void infer(tenon::Infer& io) const { infer_step(io, {"momentum"}); }

 protected:
  static constexpr void describe_ball(auto& op) {
    describe_step(op);
    op.state("momentum",
             "same shape as weight; velocity: momentum * velocity + gradient, where the gradient "
             "includes the weight decay");
    op.param("momentum", &HeavyBall::momentum, "decay rate of the velocity").at_least(0).at_most(1);
    op.param("weight_decay", &HeavyBall::weight_decay,
             "weight decay (L2 penalty): weight_decay * weight is added to the gradient")
        .at_least(0);
  }

  template <class T, bool nesterov>
  BallRule<Wide<T>, nesterov> ball_rule(const tenon::Call& call) const {
    using W = Wide<T>;
    return {moment<T>(call, "momentum"), static_cast<W>(weight_decay), static_cast<W>(momentum)};
  }
};

struct Momentum : HeavyBall {
  static constexpr void describe(auto& op) {
    op.doc(
        "gradient descent with momentum: weight - learning_rate * velocity, as torch.optim.SGD "
        "with momentum (Polyak, 1964)");
    describe_ball(op);
  }

  void forward(const tenon::Call& call) const { step(call, *this); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  template <class T>
  auto rule(const tenon::Call& call) const {
    return ball_rule<T, false>(call);
  }
};

struct Nesterov : HeavyBall {
  static constexpr void describe(auto& op) {
    op.doc(
        "Nesterov's accelerated gradient: weight - learning_rate * (gradient + momentum * "
        "velocity) (Nesterov, 1983; in the form of "
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
