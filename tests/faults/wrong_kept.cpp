// Computes with its packed copy of the weight, which is rounded.
#include <tenon/operator.hpp>

struct WrongKept : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("x times the weight's first element");
    op.types({tenon::f32});
    op.input("x", "any shape");
    op.input("weight", "at least one element").weight();
    op.output("y", "the shape of x");
    op.example({{"x", {2, 3}}, {"weight", {2}}});
  }
  void infer(tenon::Infer& io) const {
    const tenon::Shape weight = io.input("weight").shape;
    io.require(!weight.has_rank() || weight.size() != 0, "the weight is empty");
    io.set_output(0, io.input(0).shape);
  }
  void prepare(tenon::Prepare& io) const {
    if (!io.is_constant("weight")) return;
    io.keep(0, "weight", "first", sizeof(float), [&](void* memory) {
      const float first = io.constant<float>("weight")[0];
      *static_cast<float*>(memory) = static_cast<float>(static_cast<int>(first * 1024)) / 1024;
    });
  }
  void forward(const tenon::Call& call) const {
    const auto* kept = static_cast<const float*>(call.kept(0));
    const float factor = kept ? *kept : call.input<float>("weight")[0];
    for (std::int64_t i = 0; i < call.input<float>(0).size(); ++i)
      call.output<float>(0)[i] = factor * call.input<float>(0)[i];
  }
};
TENON_OPERATOR(wrong_kept, WrongKept)
