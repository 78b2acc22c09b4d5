// says: backwards is never called: write void backward
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
  void backwards(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
