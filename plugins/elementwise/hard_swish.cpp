#include <tenon/elementwise.hpp>

struct HardSwish : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x * clamp(x / 6 + 1/2, 0, 1), element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "HardSwish").since(14);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return x * max(min(x * T(1.0 / 6) + T(0.5), T(1)), T(0));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T v = x;
    return where(v < T(-3), T(0), where(v > T(3), dy, dy * (v * T(1.0 / 3) + T(0.5))));
  }
};
TENON_OPERATOR(hard_swish, HardSwish)
