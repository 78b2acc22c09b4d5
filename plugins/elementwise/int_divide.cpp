#include "whole_division.hpp"

struct IntDivide : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("integer division left / right, element by element, truncated toward zero; division by 0 gives 0");
    op.types(tenon::any_integer);
    op.input("left", "dividend");
    op.input("right", "divisor");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "Div").since(7).types(tenon::any_integer);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return where(right == T(0), T(0), T(left / safe_divisor(left, right)));
  }
};
TENON_OPERATOR(int_divide, IntDivide)
