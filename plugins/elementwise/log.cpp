#include <tenon/elementwise.hpp>

struct Log : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("natural logarithm of x, element by element; -inf at 0, nan below 0");
    op.input("x", "positive numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Log").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return log(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return dy / T(x);
  }
};
TENON_OPERATOR(log, Log)
