#include <tenon/elementwise.hpp>

struct Imag : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("imaginary part of x, element by element; 0 for real x");
    op.types(tenon::floating + tenon::any_complex);
    op.input("x", "any numbers");
    op.output("y", "same shape as x; float32 for complex64, float64 for complex128, else x's dtype");
  }

  template <class T>
  TENON_FN auto operator()([[maybe_unused]] T x) const {
    if constexpr (tenon::is_complex<T>)
      return x.im;
    else
      return T(0);
  }

  template <class D, class T>
  TENON_FN T gradient(D dy, tenon::InputOf<T>) const {
    if constexpr (tenon::is_complex<T>)
      return T(0, dy);
    else
      return T(0);
  }
};
TENON_OPERATOR(imag, Imag)
