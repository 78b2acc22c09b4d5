// says: a form of onnx(domain, type) has an empty range of versions, or one that overlaps with that of another form of the type
// about: ReduceSum
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
    op.onnx("", "ReduceSum").since(13).until(12);
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
