#include <tenon/elementwise.hpp>

struct Mish : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x * tanh(log(1 + exp(x))), element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Mish").since(18);
  }

  /// With e = exp(x) and n = e * (e + 2), tanh(log(1 + e)) is n / (n + 2), which is 1 for x >= 40.
  template <class T>
  TENON_FN T operator()(T x) const {
    const T e = exp(min(x, T(40))), n = e * (e + T(2));
    return x * (n / (n + T(2)));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T v = x, e = exp(min(v, T(40))), n = e * (e + T(2)), below = n + T(2);
    const T inside = where(abs(v) < T(1000), v, T(0));  // inf * 0 would be nan
    return dy * (n / below + inside * (T(4) * e / below) * ((e + T(1)) / below));
  }
};
TENON_OPERATOR(mish, Mish)
