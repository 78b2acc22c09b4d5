// says: zero_where requires a class that derives from tenon::Elementwise
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape");
    op.zero_where("x");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
