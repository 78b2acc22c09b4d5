#include <tenon/elementwise.hpp>

struct Tan : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("tangent of x, element by element");
    op.input("x", "angles in radians");
    op.output("y", "same shape as x");
    op.onnx("", "Tan").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return tan(x);
  }
};
TENON_OPERATOR(tan, Tan)
