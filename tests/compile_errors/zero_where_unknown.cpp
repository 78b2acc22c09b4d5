// says: zero_where names something that is not an input
// about: output
#include <tenon/elementwise.hpp>

struct Wrong : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("left * right");
    op.input("left", "any shape");
    op.input("right", "any shape");
    op.output("output", "both broadcast");
    op.zero_where("output");
  }
  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return left * right;
  }
};
TENON_OPERATOR(wrong, Wrong)
