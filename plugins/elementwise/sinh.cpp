#include <tenon/elementwise.hpp>

struct Sinh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("hyperbolic sine of x, element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.onnx("", "Sinh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return sinh(x);
  }
};
TENON_OPERATOR(sinh, Sinh)
