#include <tenon/elementwise.hpp>

struct Asin : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("inverse sine of x in radians, from -pi/2 to pi/2, element by element; nan outside [-1, 1]");
    op.input("x", "sines, in [-1, 1]");
    op.output("y", "same shape as x");
    op.onnx("", "Asin").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return asin(x);
  }
};
TENON_OPERATOR(asin, Asin)
