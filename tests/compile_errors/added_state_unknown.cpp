// says: added_state(version, state) names a state that does not exist
// about: mean
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.version(3);
    op.input("x", "any shape");
    op.output("y", "same shape");
    op.added_state(2, "mean");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
