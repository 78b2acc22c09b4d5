// says: the class has no forward
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
};
TENON_OPERATOR(wrong, Wrong)
