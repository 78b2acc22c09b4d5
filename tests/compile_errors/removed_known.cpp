// says: removed(version, param) names a parameter that the operator still has
// about: a
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  float a = 0;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.version(3);
    op.param("a", &Wrong::a, "factor");
    op.removed(2, "a");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
