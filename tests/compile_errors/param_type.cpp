// says: a parameter must be a bool, int32_t, int64_t, float, double, tenon::Text
// about: line 10
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  short a = 0;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("a", &Wrong::a, "a small number");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
