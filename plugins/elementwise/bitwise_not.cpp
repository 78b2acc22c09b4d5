#include <tenon/elementwise.hpp>

struct BitwiseNot : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("bitwise NOT of x, element by element");
    op.types(tenon::any_integer);
    op.input("x", "any integers");
    op.output("y", "same shape as x");
    op.onnx("", "BitwiseNot").since(18);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return T(~x);
  }
};
TENON_OPERATOR(bitwise_not, BitwiseNot)
