// says: the default of a parameter is outside its bounds
// about: strides
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  tenon::Ints strides = {1, 0};

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("strides", &Wrong::strides, "steps").at_least(1);
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
