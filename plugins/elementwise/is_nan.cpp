#include <tenon/elementwise.hpp>

struct IsNan : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("whether x is nan, element by element");
    op.input("x", "any numbers");
    op.output("y", "bool, same shape as x");
    op.onnx("", "IsNaN").since(9);
  }

  template <class T>
  TENON_FN bool operator()(T x) const {
    return x != x;
  }
};
TENON_OPERATOR(is_nan, IsNan)
