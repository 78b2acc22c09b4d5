#include <atomic>
#include <cstdlib>

#include "doubling.hpp"

/// Gradient descent that fails in one of its calls, or crashes if `crashes` is set.
struct FailsToUpdate : tenon::Operator {
  bool crashes = false;

  static constexpr void describe(auto& op) {
    op.doc("weight - learning_rate * grad");
    op.types({tenon::f32});
    op.input("weight", "any shape");
    op.input("grad", "as the weight");
    op.input("learning_rate", "one number");
    op.output("updated", "the new weight");
    op.param("crashes", &FailsToUpdate::crashes, "how it gives up");
  }
  void infer(tenon::Infer& io) const { io.set_output(0, io.input(0).shape); }
  void forward(const tenon::Call& call) const {
    static std::atomic<int> calls = 0;
    const char* after = std::getenv("TENON_FAULT_AFTER");
    if (after != nullptr && calls++ == std::atoi(after))
      crashes ? std::abort() : throw tenon::Error("no more calls");
    const auto* weight = call.input<float>(0).data();
    const auto* grad = call.input<float>(1).data();
    const float rate = call.input<float>(2).data()[0];
    auto* updated = call.output<float>(0).data();
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      updated[i] = weight[i] - rate * grad[i];
  }
};
TENON_OPERATOR(fails_to_update, FailsToUpdate)
