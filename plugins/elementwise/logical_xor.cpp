#include <tenon/elementwise.hpp>

struct LogicalXor : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("logical XOR of left and right, element by element");
    op.types({tenon::boolean});
    op.input("left", "first operand");
    op.input("right", "second operand");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "Xor").since(7);
  }

  TENON_FN bool operator()(bool left, bool right) const { return left != right; }
};
TENON_OPERATOR(logical_xor, LogicalXor)
