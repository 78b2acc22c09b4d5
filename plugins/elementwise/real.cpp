#include <tenon/elementwise.hpp>

struct Real : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("real part of x, element by element");
    op.types(tenon::floating + tenon::any_complex);
    op.input("x", "any numbers");
    op.output("y", "same shape as x; float32 for complex64, float64 for complex128, else x's dtype");
  }

  template <class T>
  TENON_FN auto operator()(T x) const {
    if constexpr (tenon::is_complex<T>)
      return x.re;
    else
      return x;
  }

  template <class D>
  TENON_FN D gradient(D dy) const {
    return dy;
  }
};
TENON_OPERATOR(real, Real)
