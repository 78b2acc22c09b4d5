#include <tenon/elementwise.hpp>

struct Asinh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("inverse hyperbolic sine of x, element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.onnx("", "Asinh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return asinh(x);
  }
};
TENON_OPERATOR(asinh, Asinh)
