// says: an operator composed of others, with forward(tenon::Compose&), cannot have states
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.state("mean", "of x");
  }
  void forward(tenon::Compose& c) const { c.set_output(0, c.input(0)); }
};
TENON_OPERATOR(wrong, Wrong)
