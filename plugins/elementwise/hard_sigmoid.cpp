#include <tenon/elementwise.hpp>

struct HardSigmoid : tenon::Elementwise {
  double alpha = 0.2, beta = 0.5;

  static constexpr void describe(auto& op) {
    op.doc("alpha * x + beta clamped to [0, 1]; nan stays nan");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &HardSigmoid::alpha, "slope of the linear segment");
    op.param("beta", &HardSigmoid::beta, "value at x = 0");
    op.onnx("", "HardSigmoid").since(6).attribute("alpha", "alpha").attribute("beta", "beta");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return max(min(T(alpha) * x + T(beta), T(1)), T(0));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    const T v = y;
    return where(v > T(0), where(v < T(1), T(alpha) * dy, T(0)), T(0));
  }
};
TENON_OPERATOR(hard_sigmoid, HardSigmoid)
