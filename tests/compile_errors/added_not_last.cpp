// says: must come after those of older versions
// about: mask
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.version(3);
    op.input("x", "any shape");
    op.output("mask", "of y").hidden();
    op.output("y", "same shape");
    op.added_output(2, "mask");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
