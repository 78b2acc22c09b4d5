#include "../shared/sigmoid.hpp"

struct Swish : SigmoidFormula {
  double alpha = 1;

  static constexpr void describe(auto& op) {
    op.doc("x / (1 + exp(-alpha * x)), element by element; with alpha 1 also known as SiLU");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &Swish::alpha, "factor of x in the sigmoid function");
    op.onnx("", "Swish").since(24).attribute("alpha", "alpha");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return x * sigmoid_of(T(alpha) * x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T scaled = T(alpha) * T(x), y = sigmoid_of(scaled);
    const T inside = where(abs(scaled) < T(1000), scaled, T(0));  // infinity times a slope of 0 is no number
    return dy * (y + inside * y * sigmoid_of(-scaled));
  }
};
TENON_OPERATOR(swish, Swish)
