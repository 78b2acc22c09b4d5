#include <tenon/elementwise.hpp>

#include "wrapping.hpp"

struct Neg : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("-x, element by element; integers wrap around");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.linear("x");
    op.onnx("", "Neg").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return wrapping(x, x, [](auto v, auto) { return -v; });  // not 0 - x, which would lose the sign of 0
  }
};
TENON_OPERATOR(neg, Neg)
