#include <tenon/elementwise.hpp>

struct Sigmoid : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("1 / (1 + exp(-x)), element by element");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    // e^-|x| does not overflow; what rounding takes from 1 + e^-|x| is given back.
    const T e = exp(-abs(x)), sum = T(1) + e, y = where(x < T(0), e, T(1)) / sum;
    return y - y * (e - (sum - T(1)));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    const T v = y;
    return dy * v * (T(1) - v);
  }
};
TENON_OPERATOR(sigmoid, Sigmoid)
