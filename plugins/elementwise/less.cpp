#include <tenon/elementwise.hpp>

struct Less : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left < right, element by element");
    op.types(tenon::any_real + tenon::Types{tenon::boolean});
    op.input("left", "first operand");
    op.input("right", "second operand");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "Less").since(7);
  }

  template <class T>
  TENON_FN bool operator()(T left, T right) const {
    return left < right;
  }
};
TENON_OPERATOR(less, Less)
