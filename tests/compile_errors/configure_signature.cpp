// says: configure must be public: void configure()
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  void configure(int) {}

  static constexpr void describe(auto& op) { op.doc("does nothing"); }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
