// says: write exp(x) instead of std::exp(x) in an elementwise class
#include <tenon/elementwise.hpp>

struct Wrong : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("does nothing");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return std::exp(x);
  }
};
TENON_OPERATOR(wrong, Wrong)
