// says: input_as(param, index) and halves(index, first, second) need an index from 0 to 31, ahead of a variadic input
// about: axis
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
    op.onnx("", "ReduceSum").input_as("axis", 32);
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
