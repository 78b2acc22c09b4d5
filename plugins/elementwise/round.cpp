#include <tenon/elementwise.hpp>

struct Round : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the whole number nearest to x, element by element; halves go to the even one; infinities and nan stay");
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
