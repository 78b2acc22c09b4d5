// says: op.space(name) may contain only letters
// about: acme.vision
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
    op.space("acme.vision");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
