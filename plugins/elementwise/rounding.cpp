// Rounding and signs.
#include <tenon/elementwise.hpp>

struct Ceil : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x rounded up to an integer, element by element; infinities and NaN are unchanged");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Ceil").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return ceil(x);
  }

  template <class T>
  TENON_FN T gradient(T) const {
    return T(0);
  }
};
TENON_OPERATOR(ceil, Ceil)

struct Floor : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x rounded down to an integer, element by element; infinities and NaN are unchanged");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Floor").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return floor(x);
  }

  template <class T>
  TENON_FN T gradient(T) const {
    return T(0);
  }
};
TENON_OPERATOR(floor, Floor)

struct Round : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "x rounded to the nearest integer, element by element, halves to even; infinities and NaN "
        "are unchanged");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Round").since(11);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return rint(x);
  }

  template <class T>
  TENON_FN T gradient(T) const {
    return T(0);
  }
};
TENON_OPERATOR(round, Round)

struct Sign : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("sign of x: 1 where x > 0, -1 where x < 0, 0 where x == 0; NaN stays NaN");
    op.types(tenon::any_real);
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.onnx("", "Sign").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    const T not_above = where(x == T(0), T(0), where(x != x, x, T(-1)));
    return where(x > T(0), T(1), not_above);
  }

  template <class T>
  TENON_FN T gradient(T) const {
    return T(0);
  }
};
TENON_OPERATOR(sign, Sign)
