// says: forward must be public
#include <tenon/operator.hpp>

struct Wrong final : tenon::Operator {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(int) const {}
};
TENON_OPERATOR(wrong, Wrong)
