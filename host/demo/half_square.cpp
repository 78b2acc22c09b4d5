// The demo's operator, built out of tree against the SDK.
#include <tenon/elementwise.hpp>

struct HalfSquare : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x*x/2, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return 0.5f * x * x;
  }
};
TENON_OPERATOR(half_square, HalfSquare)
