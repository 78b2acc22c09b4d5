// says: a form of onnx(domain, type) uses an attribute, input, output or index twice, or sets a parameter twice
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
    op.onnx("", "ReduceSum").attribute("axes", "axis").input_as("axis", 1);
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
