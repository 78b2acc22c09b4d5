// says: the default of a parameter is outside its bounds
// about: taps
#include <tenon/operator.hpp>

struct Wrong : tenon::Operator {
  tenon::Table<float> taps = {1, 0};

  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.param("taps", &Wrong::taps, "of a filter").greater_than(0);
  }
  void forward(const tenon::Call&) const {}
};
TENON_OPERATOR(wrong, Wrong)
