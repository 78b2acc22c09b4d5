// Components of complex numbers.
#include <tenon/elementwise.hpp>

struct Real : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("real part of x, element by element");
    op.types(tenon::floating + tenon::any_complex);
    op.input("x", "any shape");
    op.output("y",
              "same shape as x; float32 for complex64, float64 for complex128, else x's dtype");
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

struct Imag : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("imaginary part of x, element by element; 0 for real x");
    op.types(tenon::floating + tenon::any_complex);
    op.input("x", "any shape");
    op.output("y",
              "same shape as x; float32 for complex64, float64 for complex128, else x's dtype");
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

struct Conj : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("complex conjugate of x, element by element; x itself if it is real");
    op.types(tenon::floating + tenon::any_complex);
    op.input("x", "any shape");
    op.output("y", "same shape as x");
  }

  template <class T>
  TENON_FN auto operator()(T x) const {
    if constexpr (tenon::is_complex<T>)
      return conj(x);
    else
      return x;
  }

  template <class T>
  TENON_FN T gradient(T dy) const {
    if constexpr (tenon::is_complex<T>)
      return conj(dy);
    else
      return dy;
  }
};
TENON_OPERATOR(conj, Conj)
