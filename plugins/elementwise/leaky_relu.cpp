#include <tenon/elementwise.hpp>

struct LeakyRelu : tenon::Elementwise {
  double slope = 0.01;

  static constexpr void describe(auto& op) {
    op.doc("x where x > 0, else slope * x");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("slope", &LeakyRelu::slope, "slope for negative x");
    op.onnx("", "LeakyRelu").since(6).attribute("alpha", "slope");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return where(x < T(0), T(slope) * x, x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return where(T(x) > T(0), dy, T(slope) * dy);
  }
};
TENON_OPERATOR(leaky_relu, LeakyRelu)
