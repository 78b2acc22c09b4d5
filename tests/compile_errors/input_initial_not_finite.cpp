// says: the initial value of an input or a state is infinite or NaN
// about: gamma
#include <limits>
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("gamma", "any shape").initial(std::numeric_limits<double>::quiet_NaN());
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
