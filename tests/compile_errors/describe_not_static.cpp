// says: the class needs: static constexpr void describe(auto& op)
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  constexpr void describe(auto& op) const { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
