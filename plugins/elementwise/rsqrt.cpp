#include <tenon/elementwise.hpp>

struct Rsqrt : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("1 / sqrt(x), element by element; inf at 0, nan below 0");
    op.input("x", "positive numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return T(1) / sqrt(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    const T v = y;
    return T(-0.5) * dy * v * v * v;
  }
};
TENON_OPERATOR(rsqrt, Rsqrt)
