// says: an operator's name has letters, digits and underscores, no digit first
#include <tenon/elementwise.hpp>

struct Wrong : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return x;
  }
};
TENON_OPERATOR(my - operator, Wrong)
