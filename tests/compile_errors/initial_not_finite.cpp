// says: the initial value of an input or a state is infinite or NaN
// about: mean
#include <limits>
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.state("mean", "any shape").initial(std::numeric_limits<double>::infinity());
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
