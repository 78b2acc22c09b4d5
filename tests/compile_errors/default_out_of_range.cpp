// says: the default of a parameter is outside its bounds
// about: p
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  float p = 1;

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("p", &Wrong::p, "probability").at_least(0).less_than(1);
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
