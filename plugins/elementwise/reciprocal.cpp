#include <tenon/elementwise.hpp>

struct Reciprocal : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("1 / x, element by element; infinite at 0");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Reciprocal").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return T(1) / x;
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    const T v = y;
    return -dy * v * v;
  }
};
TENON_OPERATOR(reciprocal, Reciprocal)
