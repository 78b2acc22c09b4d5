#pragma once
#include "adaptive_moments.hpp"

struct Adam : AdaptiveMoments {
  double weight_decay = 0;

  static constexpr void describe(auto& op) {
    op.doc("Adam: the mean of the gradients over the root of their mean square (Kingma and Ba, 2015)");
    describe_moments(op);
    op.param("weight_decay", &Adam::weight_decay, "share of the weight that is added to its gradient").at_least(0);
  }

  void forward(const tenon::Call& call) const { count_step(call, *this); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }

  template <class T>
  auto rule(const tenon::Call& call) const {
    return moments_rule<T>(call, weight_decay, 0);
  }
};
