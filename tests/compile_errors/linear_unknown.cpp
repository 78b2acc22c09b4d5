// says: linear takes one input, or two different ones, none of them variadic
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("left . right");
    op.input("left", "[n]");
    op.input("right", "[n]");
    op.output("output", "0-d");
    op.linear("left", "rigth");
  }
  void forward(const tenon::Call&) const {}
  void backward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
