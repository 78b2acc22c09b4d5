#include <tenon/elementwise.hpp>

struct Acosh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("nonnegative inverse hyperbolic cosine of x, element by element; nan below 1");
    op.input("x", "numbers of at least 1");
    op.output("y", "same shape as x");
    op.onnx("", "Acosh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return acosh(x);
  }
};
TENON_OPERATOR(acosh, Acosh)
