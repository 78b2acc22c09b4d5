#include "adaptive_moments.hpp"

struct Adam : AdaptiveMoments {
  double weight_decay = 0;

  static constexpr void describe(auto& op) {
    op.doc("Adam: the mean of the gradients over the root of their mean square (Kingma and Ba, 2015)");
    describe_moments(op);
    op.param("weight_decay", &Adam::weight_decay, "share of the weight that is added to its gradient").at_least(0);
  }

  void forward(const tenon::Call& call) const { run(call, weight_decay, 0); }
  void forward_sparse(const tenon::Call& call) const { forward(call); }
};
TENON_OPERATOR(adam, Adam)
