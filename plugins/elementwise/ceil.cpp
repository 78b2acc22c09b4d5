#include <tenon/elementwise.hpp>

struct Ceil : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x rounded up to an integer, element by element; infinities and nan are unchanged");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.onnx("", "Ceil").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return ceil(x);
  }

  template <class T>
  TENON_FN T gradient(T) const {
    return T(0);
  }
};
TENON_OPERATOR(ceil, Ceil)
