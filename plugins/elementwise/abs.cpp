#include <tenon/elementwise.hpp>

struct Abs : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the absolute value of x, element by element; the smallest signed integer is unchanged");
    op.types(tenon::numeric);
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return abs(x);
  }
};
TENON_OPERATOR(abs, Abs)
