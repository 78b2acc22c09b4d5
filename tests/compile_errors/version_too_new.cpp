// says: raise op.version
// about: a
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  float a = 0;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("a", &Wrong::a, "factor");
    op.added(2, "a");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
