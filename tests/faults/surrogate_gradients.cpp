// Rounding that passes gradients through: not a fault if declared, else a fault.
#include <tenon/elementwise.hpp>

struct Quantize : tenon::Elementwise {
  float step = 0.25F;

  static constexpr void describe(auto& op) {
    op.doc("the nearest multiple of step; gradients pass through");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("step", &Quantize::step, "distance of the multiples").at_least(0.125);
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return floor(x / step + T(0.5F)) * step;
  }
  template <class T>
  TENON_FN T gradient(T dy) const {
    return dy;
  }
};
TENON_OPERATOR(silent_quantize, Quantize)

struct SaidQuantize : Quantize {
  static constexpr void describe(auto& op) {
    Quantize::describe(op);
    op.surrogate_gradient();
  }
};
TENON_OPERATOR(said_quantize, SaidQuantize)
