// An optimizer with two states: momentum, whose first step is not damped.
#include <tenon/operator.hpp>

struct Follow : tenon::Operator {
  double momentum = 0.5;

  static constexpr void describe(auto& op) {
    op.doc("weight - learning_rate * velocity, where velocity = momentum * velocity + grad");
    op.types({tenon::f32});
    op.input("weight", "any shape");
    op.input("grad", "same shape as weight");
    op.input("learning_rate", "a number").types({tenon::f32});
    op.output("updated", "the new weight");
    op.state("velocity", "same shape as weight");
    op.state("steps", "a number: steps so far");
    op.param("momentum", &Follow::momentum, "share of the velocity that a step keeps").at_least(0).at_most(1);
    op.inplace("weight", "updated");
  }

  void infer(tenon::Infer& io) const {
    const auto weight = io.input(0).shape;
    io.set_input("grad", weight);
    io.set_input("learning_rate", tenon::Shape::scalar());
    io.set_state("velocity", weight);
    io.set_state("steps", tenon::Shape::scalar(), tenon::i64);
    io.set_output(0, weight);
  }

  void forward(const tenon::Call& call) const {
    const auto weight = call.input<float>(0), grad = call.input<float>(1), rate = call.input<float>(2);
    auto updated = call.output<float>(0), velocity = call.state<float>(0);
    call.state<std::int64_t>(1)[0] += 1;
    for (std::int64_t i = 0; i < weight.size(); ++i) {
      velocity[i] = float(momentum) * velocity[i] + grad[i];
      updated[i] = weight[i] - rate[0] * velocity[i];
    }
  }
};
TENON_OPERATOR(follow, Follow)
