// says: onnx(domain, type) needs the type of an ONNX operator
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  tenon::Ints axis;
  bool keepdims = false;

  static constexpr void describe(auto& op) {
    op.doc("what one line of it gets wrong");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("axis", &Wrong::axis, "axes");
    op.param("keepdims", &Wrong::keepdims, "a switch");
    op.onnx("", "");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
