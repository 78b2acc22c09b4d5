#include <tenon/elementwise.hpp>

struct Elu : tenon::Elementwise {
  double alpha = 1;

  static constexpr void describe(auto& op) {
    op.doc("alpha * (exp(x) - 1) where x < 0, else x");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &Elu::alpha, "scale of the negative branch, which tends to -alpha");
    op.onnx("", "Elu").since(6).attribute("alpha", "alpha");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return where(x < T(0), T(alpha) * expm1(x), x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return where(T(x) < T(0), dy * T(alpha) * exp(T(x)), dy);
  }
};
TENON_OPERATOR(elu, Elu)
