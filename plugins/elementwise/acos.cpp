#include <tenon/elementwise.hpp>

struct Acos : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("inverse cosine of x in radians, from 0 to pi, element by element; nan outside [-1, 1]");
    op.input("x", "cosines, in [-1, 1]");
    op.output("y", "same shape as x");
    op.onnx("", "Acos").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return acos(x);
  }
};
TENON_OPERATOR(acos, Acos)
