// says: only one output can have a count
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  std::int64_t n = 1;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.output("left", "any shape").count(&Wrong::n);
    op.output("right", "any shape").count(&Wrong::n);
    op.param("n", &Wrong::n, "how many");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
