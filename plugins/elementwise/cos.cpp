#include <tenon/elementwise.hpp>

struct Cos : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("cosine of x, element by element");
    op.input("x", "angles in radians");
    op.output("y", "same shape as x");
    op.onnx("", "Cos").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return cos(x);
  }
};
TENON_OPERATOR(cos, Cos)
