#pragma once
#include "adaptive_moments.hpp"

struct AdamW : AdaptiveMoments {
  double weight_decay = 0.01;

  static constexpr void describe(auto& op) {
    op.doc("Adam with weight decay that is not part of the moments (Loshchilov and Hutter, 2019)");
    describe_moments(op);
    op.param("weight_decay", &AdamW::weight_decay, "share of the weight that a step subtracts, times the learning rate").at_least(0);
  }

  void forward(const tenon::Call& call) const { count_step(call, *this); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  template <class T>
  auto rule(const tenon::Call& call) const {
    return moments_rule<T>(call, 0, weight_decay);
  }
};
