#include <tenon/elementwise.hpp>

struct Tanh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("hyperbolic tangent of x, element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Tanh").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return tanh(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    const T v = y;
    return dy * (T(1) - v * v);
  }
};
TENON_OPERATOR(tanh, Tanh)
