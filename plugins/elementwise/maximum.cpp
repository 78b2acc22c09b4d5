#include <tenon/elementwise.hpp>

struct Maximum : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the larger of left and right, element by element; nan if either is nan");
    op.types(tenon::any_real);
    op.input("left", "first operand");
    op.input("right", "second operand");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "Max").since(6);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return max(left, right);
  }
};
TENON_OPERATOR(maximum, Maximum)
