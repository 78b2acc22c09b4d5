// says: needs an input that is .optional()
// about: gain
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.version(3);
    op.input("x", "any shape");
    op.input("gain", "any shape");
    op.output("y", "same shape");
    op.added_input(2, "gain");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
