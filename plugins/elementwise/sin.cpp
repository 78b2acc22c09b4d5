#include <tenon/elementwise.hpp>

struct Sin : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("sine of x, element by element");
    op.input("x", "angles in radians");
    op.output("y", "same shape as x");
    op.onnx("", "Sin").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return sin(x);
  }
};
TENON_OPERATOR(sin, Sin)
