#include <tenon/elementwise.hpp>

struct Atanh : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the number whose hyperbolic tangent is x, element by element; nan outside of the range from -1 to 1");
    op.input("x", "numbers from -1 to 1");
    op.output("y", "same shape as x");
    op.onnx("", "Atanh").since(9);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return atanh(x);
  }
};
TENON_OPERATOR(atanh, Atanh)
