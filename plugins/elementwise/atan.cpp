#include <tenon/elementwise.hpp>

struct Atan : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("inverse tangent of x in radians, from -pi/2 to pi/2, element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.onnx("", "Atan").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return atan(x);
  }
};
TENON_OPERATOR(atan, Atan)
