// scale * x + shift, element by element; replace it by your own function.
#include <tenon/elementwise.hpp>

struct @CLASS@ : tenon::Elementwise {
  float scale = 1, shift = 0;

  static constexpr void describe(auto& op) {
    op.doc("scale * x + shift, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("scale", &@CLASS@::scale, "multiplier");
    op.param("shift", &@CLASS@::shift, "offset");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return scale * x + shift;
  }
};
TENON_OPERATOR(@NAME@, @CLASS@)
