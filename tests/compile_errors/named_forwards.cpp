// says: forwards is never called: write void forward
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forwards(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
