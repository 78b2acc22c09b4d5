#include <tenon/elementwise.hpp>

struct Floor : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the largest whole number that is not above x, element by element; infinities and nan stay");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.onnx("", "Floor").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return floor(x);
  }

  template <class T>
  TENON_FN T gradient(T) const {
    return T(0);
  }
};
TENON_OPERATOR(floor, Floor)
