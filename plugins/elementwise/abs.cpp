#include <tenon/elementwise.hpp>

struct Abs : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("elementwise absolute value of x, real for complex x; the smallest signed integer is returned unchanged");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Abs").since(6);
  }

  template <class T>
  TENON_FN auto operator()(T x) const {
    if constexpr (tenon::is_complex<T>)
      return std::hypot(x.re, x.im);
    else
      return T(abs(x));
  }

  /// For complex x, the subgradient is dy * x / |x|, and 0 at 0.
  template <class D, class T>
  TENON_FN T gradient(D dy, tenon::InputOf<T> x) const {
    const T value = x;
    if constexpr (tenon::is_complex<T>) {
      const auto length = std::hypot(value.re, value.im);
      return length == 0 ? T(0) : T(dy * value.re / length, dy * value.im / length);
    } else {
      return where(value > T(0), dy, where(value < T(0), -dy, value * T(0)));  // propagates nan
    }
  }
};
TENON_OPERATOR(abs, Abs)
