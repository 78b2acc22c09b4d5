// says: or void forward(tenon::Compose& c) const for a graph of other operators
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  void forward(tenon::Compose& c) { c.set_output(0, c.input(0)); }
};
TENON_OPERATOR(wrong, Wrong)
