// Hyperbolic functions and their inverses.
#include <tenon/elementwise.hpp>

struct Sinh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("hyperbolic sine of x, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Sinh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return sinh(x);
  }
};
TENON_OPERATOR(sinh, Sinh)

struct Cosh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("hyperbolic cosine of x, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Cosh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return cosh(x);
  }
};
TENON_OPERATOR(cosh, Cosh)

struct Tanh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("hyperbolic tangent of x, element by element");
    op.input("x", "any shape");
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

struct Asinh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("inverse hyperbolic sine of x, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Asinh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return asinh(x);
  }
};
TENON_OPERATOR(asinh, Asinh)

struct Acosh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("nonnegative inverse hyperbolic cosine of x, element by element; NaN below 1");
    op.input("x", "numbers >= 1, any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Acosh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return acosh(x);
  }
};
TENON_OPERATOR(acosh, Acosh)

struct Atanh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("inverse hyperbolic tangent of x, element by element; NaN outside [-1, 1]");
    op.input("x", "numbers in [-1, 1], any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Atanh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return atanh(x);
  }
};
TENON_OPERATOR(atanh, Atanh)
