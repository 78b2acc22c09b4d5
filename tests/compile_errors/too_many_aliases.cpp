// says: describe exceeds the limits of the SDK
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.alias("alias0");
    op.alias("alias1");
    op.alias("alias2");
    op.alias("alias3");
    op.alias("alias4");
    op.alias("alias5");
    op.alias("alias6");
    op.alias("alias7");
    op.alias("alias8");
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
