// Logical operators.
#include <tenon/elementwise.hpp>

struct LogicalAnd : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("logical AND of left and right, element by element");
    op.types({tenon::boolean});
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "And").since(7);
  }

  TENON_FN bool operator()(bool left, bool right) const { return left & right; }
};
TENON_OPERATOR(logical_and, LogicalAnd)

struct LogicalOr : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("logical OR of left and right, element by element");
    op.types({tenon::boolean});
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "Or").since(7);
  }

  TENON_FN bool operator()(bool left, bool right) const { return left | right; }
};
TENON_OPERATOR(logical_or, LogicalOr)

struct LogicalXor : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("logical XOR of left and right, element by element");
    op.types({tenon::boolean});
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "Xor").since(7);
  }

  TENON_FN bool operator()(bool left, bool right) const { return left != right; }
};
TENON_OPERATOR(logical_xor, LogicalXor)

struct LogicalNot : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("logical NOT of x, element by element");
    op.types({tenon::boolean});
    op.input("x", "bool");
    op.output("y", "same shape as x");
    op.onnx("", "Not");
  }

  TENON_FN bool operator()(bool x) const { return !x; }
};
TENON_OPERATOR(logical_not, LogicalNot)
