#include <tenon/elementwise.hpp>

struct Selu : tenon::Elementwise {
  double alpha = 1.67326319217681884765625, gamma = 1.05070102214813232421875;

  static constexpr void describe(auto& op) {
    op.doc("gamma * alpha * (exp(x) - 1) where x < 0, else gamma * x");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &Selu::alpha, "scale of the negative branch");
    op.param("gamma", &Selu::gamma, "scale of the result");
    op.onnx("", "Selu").since(6).attribute("alpha", "alpha").attribute("gamma", "gamma");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return T(gamma) * where(x < T(0), T(alpha) * expm1(x), x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return T(gamma) * where(T(x) < T(0), dy * T(alpha) * exp(T(x)), dy);
  }
};
TENON_OPERATOR(selu, Selu)
