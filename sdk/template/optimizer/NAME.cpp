// Gradient descent with momentum; replace it by your own optimizer. Use it with
// `tenon train --optimizer @NAME@`.
#include <tenon/operator.hpp>

struct @CLASS@ : tenon::Operator {
  float momentum = 0.9f;

  static constexpr void describe(auto& op) {
    op.doc("moving = momentum * moving + grad; weight - learning_rate * moving");
    op.types({tenon::f32});
    op.input("weight", "any shape");
    op.input("grad", "same shape as weight");
    op.input("learning_rate", "0-d float32").types({tenon::f32});
    op.output("updated", "weight after the step");
    op.state("moving", "decaying sum of the gradients, same shape as weight");
    op.param("momentum", &@CLASS@::momentum, "decay rate of moving").at_least(0).less_than(1);
    op.inplace("weight", "updated");
    op.example({{"weight", {2, 3}}, {"grad", {2, 3}}, {"learning_rate", {}}});
  }
  void infer(tenon::Infer& io) const {
    io.require_same_shape("weight", "grad", "updated");
    io.set_input(2, tenon::Shape::scalar());
    io.set_state("moving", io.input(0).shape);
  }
  void forward(const tenon::Call& call) const {
    const auto weight = call.input<float>(0), grad = call.input<float>(1);
    const auto updated = call.output<float>(0), moving = call.state<float>("moving");
    const float rate = call.input<float>(2)[0];
    for (std::int64_t i = 0; i < updated.size(); ++i) {
      moving[i] = momentum * moving[i] + grad[i];
      updated[i] = weight[i] - rate * moving[i];
    }
  }
};
TENON_OPERATOR(@NAME@, @CLASS@)
