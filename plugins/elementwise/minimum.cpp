#include <tenon/elementwise.hpp>

struct Minimum : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the smaller of left and right, element by element; nan if either is nan");
    op.types(tenon::any_real);
    op.input("left", "first operand");
    op.input("right", "second operand");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "Min").since(6);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return min(left, right);
  }
};
TENON_OPERATOR(minimum, Minimum)
