// says: none of them variadic; an input may occur in only one term
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("left * right + left");
    op.input("left", "[n]");
    op.input("right", "[n]");
    op.output("output", "[n]");
    op.linear("left", "right");
    op.linear("left");
  }
  void forward(const tenon::Call&) const {}
  void backward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
