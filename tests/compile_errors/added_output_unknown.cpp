// says: added_output(version, output) names an output that does not exist
// about: mask
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.version(3);
    op.input("x", "any shape");
    op.output("y", "same shape");
    op.added_output(2, "mask");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
