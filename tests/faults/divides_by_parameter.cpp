// infer() crashes for a parameter value that it allows.
#include <tenon/operator.hpp>

struct Divides : tenon::Operator {
  std::int32_t parts = 1;

  static constexpr void describe(auto& op) {
    op.doc("the first part of a vector");
    op.input("x", "[n]");
    op.output("y", "[n / parts]");
    op.param("parts", &Divides::parts, "number of parts").at_least(0);  // also allows 0
    op.types({tenon::f32});
  }
  void infer(tenon::Infer& io) const {
    const auto shape = io.input("x").shape;
    if (!shape.has_rank()) return;
    io.require(shape.rank() == 1, "x is ", shape, " but needs [n]");
    const volatile std::int32_t divisor = parts;
    io.set_output("y", {shape[0] == tenon::unknown ? tenon::unknown : shape[0] / divisor});
  }
  void forward(const tenon::Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.output<float>(0);
    for (std::int64_t i = 0; i < y.size(); ++i) y[i] = x[i];
  }
};
TENON_OPERATOR(divides_by_parameter, Divides)
