// says: 8 conditions of 8 values each
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  std::int64_t n = 1;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "as x");
    op.param("n", &Wrong::n, "a number");
    op.backward_reads("x").when("n", 1, 2, 3, 4, 5, 6, 7, 8, 9);
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
