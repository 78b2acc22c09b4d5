// says: backward_reads names something twice
// about: x
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  tenon::Ints kernel = {3}, stride = {};
  bool flag = false;

  static constexpr void describe(auto& op) {
    op.doc("what one line of it gets wrong");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("kernel", &Wrong::kernel, "sizes");
    op.param("stride", &Wrong::stride, "steps");
    op.param("flag", &Wrong::flag, "a switch");
    op.backward_reads("x").when("flag", true);
    op.backward_reads("x");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
