// Names of operators and kernels.
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

//! case quoted
// says: an operator's name has letters, digits and underscores, no digit first
TENON_OPERATOR("wrong", Wrong)

//! case with_dash
// says: an operator's name has letters, digits and underscores, no digit first
TENON_OPERATOR(my - operator, Wrong)

//! case digit_first
// says: an operator's name has letters, digits and underscores, no digit first
TENON_OPERATOR(2d, Wrong)

//! case twice
// says: redefinition of
TENON_OPERATOR(wrong, Wrong)
TENON_OPERATOR(wrong, Wrong)

//! case kernel_with_dot
// says: an operator's name has letters, digits and underscores, no digit first
struct Elsewhere : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.kernels_elsewhere();
  }
};
struct WrongCpu : Elsewhere {
  void forward(const tenon::Call&) {}
};
TENON_KERNEL(acme.wrong, cpu, WrongCpu)
