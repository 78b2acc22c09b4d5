#include "../shared/sigmoid.hpp"

struct GeluTanh : SigmoidFormula {
  static constexpr void describe(auto& op) {
    op.doc("tanh approximation of gelu: x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return x * sigmoid_of(inner(x));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T v = x, u = inner(v), y = sigmoid_of(u);
    const T inside = where(abs(v) < T(40), v, T(0));  // inf * 0 would be nan
    return dy * (y + inside * y * sigmoid_of(-u) * (T(root) + T(3 * cubic) * inside * inside));
  }

 private:
  static constexpr double root = 1.5957691216057308, cubic = 0.071354816272600248;  // 2 sqrt(2 / pi), and 0.044715 times it

  /// The argument of sigmoid: (1 + tanh(u)) / 2 == sigmoid(2 u).
  template <class T>
  TENON_FN static T inner(T x) {
    return x * (T(root) + T(cubic) * x * x);
  }
};
TENON_OPERATOR(gelu_tanh, GeluTanh)
