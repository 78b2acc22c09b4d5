#include <tenon/elementwise.hpp>

struct ThresholdedRelu : tenon::Elementwise {
  double threshold = 1;

  static constexpr void describe(auto& op) {
    op.doc("x where x > threshold, else 0 (also for nan)");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("threshold", &ThresholdedRelu::threshold, "largest x that becomes 0");
    op.onnx("", "ThresholdedRelu").since(10).attribute("alpha", "threshold");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return where(x > T(threshold), x, T(0));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return where(T(x) > T(threshold), dy, T(0));
  }
};
TENON_OPERATOR(thresholded_relu, ThresholdedRelu)
