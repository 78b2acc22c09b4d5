// says: forward must be public: void forward(const tenon::Call& call) const
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  int forward(const tenon::Call&) const { return 0; }
};
TENON_OPERATOR(wrong, Wrong)
