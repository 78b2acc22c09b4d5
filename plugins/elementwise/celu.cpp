#include <tenon/elementwise.hpp>

struct Celu : tenon::Elementwise {
  double alpha = 1;

  static constexpr void describe(auto& op) {
    op.doc("alpha * (exp(x / alpha) - 1) where x < 0, else x");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &Celu::alpha, "scale of the negative branch, which tends to -alpha; if 0, negative x gives 0");
    op.onnx("", "Celu").since(12).attribute("alpha", "alpha");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return where(x < T(0), T(alpha) * expm1(x / T(alpha)), x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return where(T(x) < T(0), dy * exp(T(x) / T(alpha)), dy);
  }
};
TENON_OPERATOR(celu, Celu)
