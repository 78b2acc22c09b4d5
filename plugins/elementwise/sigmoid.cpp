#include "../shared/sigmoid.hpp"

struct Sigmoid : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("1 / (1 + exp(-x)), element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Sigmoid").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return SigmoidFormula::sigmoid_of(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    const T v = y;
    return dy * v * (T(1) - v);
  }
};
TENON_OPERATOR(sigmoid, Sigmoid)
