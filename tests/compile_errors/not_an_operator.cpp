// says: must derive from tenon::Operator or tenon::Elementwise
#include <tenon/operator.hpp>

struct Wrong {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
