#include <tenon/elementwise.hpp>

#include "saturate.hpp"

struct Shrink : tenon::Elementwise {
  double bias = 0, threshold = 0.5;

  static constexpr void describe(auto& op) {
    op.doc("x + bias where x < -threshold, x - bias where x > threshold, else 0 (also for nan)");
    op.types(tenon::any_real);
    op.input("x", "any numbers");
    op.output("y", "same shape as x; integers are computed in float64 and truncated toward zero");
    op.param("bias", &Shrink::bias, "amount by which x is moved toward zero; equal to threshold for soft shrinkage, 0 for hard shrinkage");
    op.param("threshold", &Shrink::threshold, "largest absolute value that becomes 0");
    op.onnx("", "Shrink").since(9).attribute("bias", "bias").attribute("lambd", "threshold");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return saturate<T>(shrunk(static_cast<double>(x)));
    } else {
      return shrunk(x);
    }
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T v = x;
    return where(v < T(-threshold), dy, where(v > T(threshold), dy, T(0)));
  }

 private:
  template <class T>
  TENON_FN T shrunk(T x) const {
    return where(x < T(-threshold), x + T(bias), where(x > T(threshold), x - T(bias), T(0)));
  }
};
TENON_OPERATOR(shrink, Shrink)
