#include "../shared/sigmoid.hpp"

struct Swish : SigmoidFormula {
  double alpha = 1;

  static constexpr void describe(auto& op) {
    op.doc("x * sigmoid(alpha * x), element by element; SiLU if alpha is 1");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &Swish::alpha, "factor of x inside the sigmoid");
    op.onnx("", "Swish").since(24).attribute("alpha", "alpha");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return x * sigmoid_of(T(alpha) * x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T scaled = T(alpha) * T(x), y = sigmoid_of(scaled);
    const T inside = where(abs(scaled) < T(1000), scaled, T(0));  // inf * 0 would be nan
    return dy * (y + inside * y * sigmoid_of(-scaled));
  }
};
TENON_OPERATOR(swish, Swish)
