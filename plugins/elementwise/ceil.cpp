#include <tenon/elementwise.hpp>

struct Ceil : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the smallest whole number that is not below x, element by element; infinities and nan stay");
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
