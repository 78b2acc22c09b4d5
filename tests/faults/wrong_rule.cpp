#include <tenon/elementwise.hpp>

// Its rule forgets the one that is added.
struct WrongRule : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("2 x + 1");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.rule("forgets_one", "wrong_rule(wrong_rule(x))", "four_times(x)");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return T(2) * x + T(1);
  }
};
TENON_OPERATOR(wrong_rule, WrongRule)

struct FourTimes : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("4 x");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return T(4) * x;
  }
};
TENON_OPERATOR(four_times, FourTimes)
