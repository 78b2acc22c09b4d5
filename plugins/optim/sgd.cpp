#include "optimizer.hpp"

struct Sgd : Optimizer {
  double weight_decay = 0;

  static constexpr void describe(auto& op) {
    op.doc("stochastic gradient descent: weight - learning_rate * (grad + weight_decay * weight) (Robbins and Monro, 1951)");
    describe_step(op);
    op.param("weight_decay", &Sgd::weight_decay, "share of the weight that is added to its gradient").at_least(0);
  }

  void infer(tenon::Infer& io) const { infer_step(io); }

  void forward(const tenon::Call& call) const {
    visit(call, [&]<class T>() {
      using W = Wide<T>;
      const W rate = static_cast<W>(learning_rate(call)), decay = static_cast<W>(weight_decay);
      for_each_weight<T>(call, [=](std::int64_t, W weight, W grad) { return weight - rate * (grad + decay * weight); });
    });
  }
  void forward_sparse(const tenon::Call& call) const { forward(call); }
};
TENON_OPERATOR(sgd, Sgd)
