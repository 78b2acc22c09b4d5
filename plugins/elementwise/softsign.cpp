#include <tenon/elementwise.hpp>

struct Softsign : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x / (1 + |x|), element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Softsign");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return x / (T(1) + abs(x));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T factor = T(1) / (T(1) + abs(T(x)));
    return dy * factor * factor;
  }
};
TENON_OPERATOR(softsign, Softsign)
