// says: describe must run at compile time
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
