#include <tenon/elementwise.hpp>

struct Erf : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("error function of x, element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.onnx("", "Erf").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return erf(x);
  }
};
TENON_OPERATOR(erf, Erf)
