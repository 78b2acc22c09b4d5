// Exponentials, logarithms, powers and roots.
#include <tenon/elementwise.hpp>

#include "wrapping.hpp"

struct Exp : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("e^x, element by element");
    op.input("x", "exponents, any shape");
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

struct Log : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("natural logarithm of x, element by element; -inf at 0, NaN below 0");
    op.input("x", "positive numbers, any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Log").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return log(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return dy / T(x);
  }
};
TENON_OPERATOR(log, Log)

struct Pow : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "base^exponent, element by element; integers wrap around, and fractional results such as "
        "2^-1 become 0");
    op.types(tenon::any_real);
    op.input("base", "any shape; a negative base with a fractional exponent gives NaN");
    op.input("exponent", "any shape");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "Pow").since(7);
  }

  template <class T>
  TENON_FN T operator()(T base, T exponent) const {
    return pow(base, exponent);
  }
};
TENON_OPERATOR(pow, Pow)

struct Sqrt : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("square root of x, element by element; NaN below 0");
    op.input("x", "numbers >= 0, any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Sqrt").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return sqrt(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    return T(0.5) * dy / T(y);
  }
};
TENON_OPERATOR(sqrt, Sqrt)

struct Rsqrt : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("1 / sqrt(x), element by element; inf at 0, NaN below 0");
    op.input("x", "positive numbers, any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return T(1) / sqrt(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    const T v = y;
    return T(-0.5) * dy * v * v * v;
  }
};
TENON_OPERATOR(rsqrt, Rsqrt)

struct Square : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x * x, element by element; integers wrap around");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return wrapping(x, x, [](auto l, auto r) { return l * r; });
  }
};
TENON_OPERATOR(square, Square)

struct Reciprocal : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("1 / x, element by element; inf or -inf at 0 or -0");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Reciprocal").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return T(1) / x;
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    const T v = y;
    return -dy * v * v;
  }
};
TENON_OPERATOR(reciprocal, Reciprocal)

struct Erf : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("error function of x, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Erf").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return erf(x);
  }
};
TENON_OPERATOR(erf, Erf)
