// Complex numbers as elements: tenon::c64 has float components, tenon::c128 double components.
//
//     const auto z = call.input<tenon::Complex<float>>(0);
//     for (const auto x : z) sum += x * conj(x);          // |x|^2, as a complex number
//
// They have the layout of std::complex, of numpy's complex64 and complex128, and of the complex
// types of BLAS and CUDA, so arrays of them may be passed to libraries. They work in constant
// expressions and on CUDA devices. Arithmetic uses the textbook formulas: if a component is
// infinite or NaN, the result may be NaN where Annex G of the C standard requires infinity.
#pragma once

#include <type_traits>

#include "detail/visibility.hpp"
#include "fn.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

/// re + im i, with float or double components. Numbers compare by components: NaN in either makes
/// them differ. A real number has im = 0 and converts implicitly; real(z) converts back. Trivially
/// copyable: kernels may copy it as bytes.
template <class Real>
struct TENON_OPEN Complex {
  static_assert(std::is_floating_point_v<Real>,
                "the components of a complex number are float or double");

  Real re, im;  ///< the real part comes first

  Complex() = default;  ///< uninitialized, like a float; Complex<float>{} is 0
  TENON_FN TENON_HIDDEN constexpr Complex(Real re, Real im = 0) : re(re), im(im) {}
  /// Converts between the two precisions. From double to float each component is rounded.
  ///
  ///     const auto wide = tenon::Complex<double>(z);  // exact
  template <class Other>
  requires(!std::is_same_v<Other, Real>) TENON_FN TENON_HIDDEN
      explicit constexpr Complex(Complex<Other> other)
      : re(static_cast<Real>(other.re)), im(static_cast<Real>(other.im)) {}

  TENON_FN friend constexpr Complex operator+(Complex z) { return z; }
  TENON_FN friend constexpr Complex operator-(Complex z) { return {-z.re, -z.im}; }
  TENON_FN friend constexpr Complex operator+(Complex l, Complex r) {
    return {l.re + r.re, l.im + r.im};
  }
  TENON_FN friend constexpr Complex operator-(Complex l, Complex r) {
    return {l.re - r.re, l.im - r.im};
  }
  TENON_FN friend constexpr Complex operator*(Complex l, Complex r) {
    return {l.re * r.re - l.im * r.im, l.re * r.im + l.im * r.re};
  }
  /// Scaled by the larger component of the divisor (Smith's algorithm, as in numpy), so that no
  /// square overflows. Division by 0 gives infinite or NaN components.
  TENON_FN friend constexpr Complex operator/(Complex l, Complex r) {
    if (magnitude(r.re) >= magnitude(r.im)) {
      if (r.re == 0 && r.im == 0) return {l.re / magnitude(r.re), l.im / magnitude(r.re)};
      const Real ratio = r.im / r.re, scale = 1 / (r.re + r.im * ratio);
      return {(l.re + l.im * ratio) * scale, (l.im - l.re * ratio) * scale};
    }
    const Real ratio = r.re / r.im, scale = 1 / (r.re * ratio + r.im);
    return {(l.re * ratio + l.im) * scale, (l.im * ratio - l.re) * scale};
  }
  TENON_FN TENON_HIDDEN constexpr Complex& operator+=(Complex z) { return *this = *this + z; }
  TENON_FN TENON_HIDDEN constexpr Complex& operator-=(Complex z) { return *this = *this - z; }
  TENON_FN TENON_HIDDEN constexpr Complex& operator*=(Complex z) { return *this = *this * z; }
  TENON_FN TENON_HIDDEN constexpr Complex& operator/=(Complex z) { return *this = *this / z; }

  /// Complex numbers are not ordered: < does not compile.
  TENON_FN friend constexpr bool operator==(Complex l, Complex r) {
    return l.re == r.re && l.im == r.im;
  }

  /// The components, and the conjugate re - im i. Call real(z) unqualified; ADL finds it.
  TENON_FN friend constexpr Real real(Complex z) { return z.re; }
  TENON_FN friend constexpr Real imag(Complex z) { return z.im; }
  TENON_FN friend constexpr Complex conj(Complex z) { return {z.re, -z.im}; }

 private:
  TENON_FN TENON_HIDDEN static constexpr Real magnitude(Real x) { return x < 0 ? -x : x; }
};

/// Whether T is Complex<float> or Complex<double>, for `if constexpr` in generic functions.
template <class T>
inline constexpr bool is_complex = false;
template <class Real>
inline constexpr bool is_complex<Complex<Real>> = true;

}  // namespace tenon
#pragma GCC visibility pop
