#include <tenon/elementwise.hpp>

struct Atanh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("inverse hyperbolic tangent of x, element by element; nan outside [-1, 1]");
    op.input("x", "numbers in [-1, 1]");
    op.output("y", "same shape as x");
    op.onnx("", "Atanh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return atanh(x);
  }
};
TENON_OPERATOR(atanh, Atanh)
