// An operator composed of others: the gated layer of many language models (Shazeer, 2020, "GLU
// variants improve transformer"). It has no kernel; its gradient, its shapes and its kernels on
// every device are those of the operators inside.
#include <tenon/operator.hpp>

struct SwiGlu : tenon::Operator {
  std::int64_t hidden = 0;
  float limit = 0;

  static constexpr void describe(auto& op) {
    op.doc("(silu(x * gate) * (x * up)) * down, with silu(a) = a * sigmoid(a)");
    op.types({tenon::f32, tenon::f64});
    op.input("x", "[rows, features]");
    op.input("gate", "[features, hidden]").weight();
    op.input("up", "[features, hidden]").weight();
    op.input("down", "[hidden, features]").weight();
    op.output("y", "[rows, features]");
    op.param("hidden", &SwiGlu::hidden, "number of hidden values").required().at_least(1);
    op.param("limit", &SwiGlu::limit,
             "hidden values are clipped to [-limit, limit]; 0: no clipping")
        .at_least(0);
    op.example({{"x", {3, 4}}, {"gate", {4, 5}}, {"up", {4, 5}}, {"down", {5, 4}}},
               {{"hidden", 5}});
  }

  // Everything but the shapes of weights is inferred from the composed nodes.
  void infer(tenon::Infer& io) const {
    const auto x = io.input("x").shape;
    if (!x.has_rank()) return;
    io.require(x.rank() == 2, "x is ", x, " but needs two dimensions");
    for (const char* weight : {"gate", "up"}) io.set_input(weight, {x[1], hidden});
    io.set_input("down", {hidden, x[1]});
  }

  void forward(tenon::Compose& c) const {
    const auto gated = c.add("matmul", {c.input("x"), c.input("gate")});
    const auto silu = c.add("mul", {gated, c.add("sigmoid", {gated})});
    auto values = c.add("mul", {silu, c.add("matmul", {c.input("x"), c.input("up")})});
    if (limit > 0) values = c.add("clip", {values}, {{"low", -limit}, {"high", limit}});
    c.set_output("y", c.add("matmul", {values, c.input("down")}));
  }
};
TENON_OPERATOR(swiglu, SwiGlu)
