// says: deleted function
// about: line 11
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  void infer(tenon::Infer& io) const { io.param_error(0, "is a name"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
