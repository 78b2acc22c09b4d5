#include <tenon/elementwise.hpp>

struct Gelu : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x times the probability that a standard normal number is below x: x * (1 + erf(x / sqrt(2))) / 2");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return x * normal_cdf(x);
  }
};
TENON_OPERATOR(gelu, Gelu)
