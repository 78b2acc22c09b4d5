#include <tenon/elementwise.hpp>

struct LogicalAnd : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("whether left and right are both true, element by element");
    op.types({tenon::boolean});
    op.input("left", "first operand");
    op.input("right", "second operand");
    op.output("output", "true or false for each element of the inputs' shapes broadcast together");
    op.onnx("", "And").since(7);
  }

  TENON_FN bool operator()(bool left, bool right) const { return left & right; }
};
TENON_OPERATOR(logical_and, LogicalAnd)
