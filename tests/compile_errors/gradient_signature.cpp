// says: gradient must be public: void gradient(tenon::Gradient& g) const
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  void gradient(const tenon::Call&) const {}

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
