// A custom fused operator: graphs with relu(times(x)) run times_relu(x), which reads and writes
// memory once.
#include <tenon/elementwise.hpp>

struct Times : tenon::Elementwise {
  float factor = 1;

  static constexpr void describe(auto& op) {
    op.doc("factor * x, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("factor", &Times::factor, "multiplier");
    op.rule("relu", "relu(times(x; ...))", "times_relu(x; ...)");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return factor * x;
  }
};
TENON_OPERATOR(times, Times)

struct TimesRelu : Times {
  static constexpr void describe(auto& op) {
    op.doc("max(factor * x, 0)");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("factor", &TimesRelu::factor, "multiplier");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    const T y = factor * x;
    return where(y < T(0), T(0), y);
  }
};
TENON_OPERATOR(times_relu, TimesRelu)
