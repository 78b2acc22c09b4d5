// says: an operator whose kernel allocates outputs cannot have an output with a count
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  std::int32_t parts = 2;

  static constexpr void describe(auto& op) {
    op.doc("what one line of it gets wrong");
    op.input("x", "any shape");
    op.output("found", "[count]").allocated();
    op.output("part", "the shape of x").count(&Wrong::parts);
    op.param("parts", &Wrong::parts, "how many");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
