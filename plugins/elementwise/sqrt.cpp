#include <tenon/elementwise.hpp>

struct Sqrt : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("square root of x, element by element; nan below 0");
    op.input("x", "nonnegative numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Sqrt").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return sqrt(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    return T(0.5) * dy / T(y);
  }
};
TENON_OPERATOR(sqrt, Sqrt)
