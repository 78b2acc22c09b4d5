#include <tenon/elementwise.hpp>

struct Cosh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("hyperbolic cosine of x, element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.onnx("", "Cosh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return cosh(x);
  }
};
TENON_OPERATOR(cosh, Cosh)
