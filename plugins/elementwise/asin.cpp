#include <tenon/elementwise.hpp>

struct Asin : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the angle from -pi/2 to pi/2 whose sine is x, element by element; nan outside of the range from -1 to 1");
    op.input("x", "numbers from -1 to 1");
    op.output("y", "same shape as x");
    op.onnx("", "Asin").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return asin(x);
  }
};
TENON_OPERATOR(asin, Asin)
