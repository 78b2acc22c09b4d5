#include <tenon/elementwise.hpp>

struct Exp : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("e^x, element by element");
    op.input("x", "exponents");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Exp").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return exp(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    return dy * T(y);
  }
};
TENON_OPERATOR(exp, Exp)
