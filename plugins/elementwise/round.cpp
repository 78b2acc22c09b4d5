#include <tenon/elementwise.hpp>

struct Round : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x rounded to the nearest integer, element by element, halves to even; infinities and nan are unchanged");
    op.input("x", "any numbers");
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
