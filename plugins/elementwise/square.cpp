#include <tenon/elementwise.hpp>

#include "wrapping.hpp"

struct Square : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x * x, element by element; integers wrap around");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return wrapping(x, x, [](auto l, auto r) { return l * r; });
  }
};
TENON_OPERATOR(square, Square)
