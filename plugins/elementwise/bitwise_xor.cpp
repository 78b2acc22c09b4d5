#include <tenon/elementwise.hpp>

struct BitwiseXor : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("bitwise XOR of left and right, element by element");
    op.types(tenon::any_integer);
    op.input("left", "first operand");
    op.input("right", "second operand");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "BitwiseXor").since(18);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return T(left ^ right);
  }
};
TENON_OPERATOR(bitwise_xor, BitwiseXor)
