// says: two parameters have the same name
// about: a
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  float a = 0, b = 0;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("a", &Wrong::a, "one");
    op.param("a", &Wrong::b, "another");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
