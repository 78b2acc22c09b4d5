#include <tenon/elementwise.hpp>

struct Equal : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left == right, element by element");
    op.types(tenon::every_type);
    op.input("left", "first operand");
    op.input("right", "second operand");
    op.output("output", "bool; the inputs' shapes broadcast together");
    op.onnx("", "Equal").since(7);
  }

  template <class T>
  TENON_FN bool operator()(T left, T right) const {
    return left == right;
  }
};
TENON_OPERATOR(equal, Equal)
