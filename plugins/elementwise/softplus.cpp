#include <tenon/elementwise.hpp>

struct Softplus : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("log(1 + exp(x)), element by element, computed without overflow");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Softplus");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return max(x, T(0)) + log1p(exp(-abs(x)));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return dy / (T(1) + exp(-T(x)));
  }
};
TENON_OPERATOR(softplus, Softplus)
