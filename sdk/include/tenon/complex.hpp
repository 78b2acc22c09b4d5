// Complex numbers as elements: tenon::c64 is made of floats, tenon::c128 of doubles.
//
//     const auto z = call.input<tenon::Complex<float>>(0);
//     for (const auto x : z) sum += x * conj(x);          // |x|^2, as a complex number
//
// They are laid out as std::complex, numpy's complex64 and complex128, and the complex types of BLAS and CUDA: arrays of them may be passed
// to libraries as they are. They work in constant expressions and on CUDA devices. Arithmetic is by the textbook: where parts are infinite
// or NaN, results may be NaN that Annex G of the C standard makes infinite.
#pragma once

#include <type_traits>

#include "fn.hpp"
#include "visibility.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

/// re + im i, with float or double parts, compared part by part: NaN in either makes numbers differ.
/// A real number is one with im = 0 and converts without a cast; the way back is real(z).
/// It is trivially copyable: kernels may move it as bytes.
template <class Part>
struct TENON_OPEN Complex {
  static_assert(std::is_floating_point_v<Part>, "the parts of a complex number are float or double");

  Part re, im;  ///< the real part comes first

  Complex() = default;  ///< undefined parts, as of a float; Complex<float>{} is 0
  TENON_FN TENON_HIDDEN constexpr Complex(Part re, Part im = 0) : re(re), im(im) {}
  /// Between the two sizes of parts. From double to float it rounds each part.
  ///
  ///     const auto wide = tenon::Complex<double>(z);  // exact
  template <class Other>
  requires(!std::is_same_v<Other, Part>) TENON_FN TENON_HIDDEN explicit constexpr Complex(Complex<Other> other)
      : re(static_cast<Part>(other.re)), im(static_cast<Part>(other.im)) {}

  TENON_FN friend constexpr Complex operator+(Complex z) { return z; }
  TENON_FN friend constexpr Complex operator-(Complex z) { return {-z.re, -z.im}; }
  TENON_FN friend constexpr Complex operator+(Complex l, Complex r) { return {l.re + r.re, l.im + r.im}; }
  TENON_FN friend constexpr Complex operator-(Complex l, Complex r) { return {l.re - r.re, l.im - r.im}; }
  TENON_FN friend constexpr Complex operator*(Complex l, Complex r) { return {l.re * r.re - l.im * r.im, l.re * r.im + l.im * r.re}; }
  /// Scaled by the larger part of the divisor (Smith's algorithm, as in numpy), so that no square overflows. By 0: infinite or NaN parts.
  TENON_FN friend constexpr Complex operator/(Complex l, Complex r) {
    if (magnitude(r.re) >= magnitude(r.im)) {
      if (r.re == 0 && r.im == 0) return {l.re / magnitude(r.re), l.im / magnitude(r.re)};
      const Part ratio = r.im / r.re, scale = 1 / (r.re + r.im * ratio);
      return {(l.re + l.im * ratio) * scale, (l.im - l.re * ratio) * scale};
    }
    const Part ratio = r.re / r.im, scale = 1 / (r.re * ratio + r.im);
    return {(l.re * ratio + l.im) * scale, (l.im * ratio - l.re) * scale};
  }
  TENON_FN TENON_HIDDEN constexpr Complex& operator+=(Complex z) { return *this = *this + z; }
  TENON_FN TENON_HIDDEN constexpr Complex& operator-=(Complex z) { return *this = *this - z; }
  TENON_FN TENON_HIDDEN constexpr Complex& operator*=(Complex z) { return *this = *this * z; }
  TENON_FN TENON_HIDDEN constexpr Complex& operator/=(Complex z) { return *this = *this / z; }

  /// Complex numbers have no order: < does not compile.
  TENON_FN friend constexpr bool operator==(Complex l, Complex r) { return l.re == r.re && l.im == r.im; }

  /// The parts, and re - im i. Found by a plain real(z), without a namespace.
  TENON_FN friend constexpr Part real(Complex z) { return z.re; }
  TENON_FN friend constexpr Part imag(Complex z) { return z.im; }
  TENON_FN friend constexpr Complex conj(Complex z) { return {z.re, -z.im}; }

 private:
  TENON_FN TENON_HIDDEN static constexpr Part magnitude(Part x) { return x < 0 ? -x : x; }
};

/// Whether T is Complex<float> or Complex<double>, for `if constexpr` in functions of any T.
template <class T>
inline constexpr bool is_complex = false;
template <class Part>
inline constexpr bool is_complex<Complex<Part>> = true;

}  // namespace tenon
#pragma GCC visibility pop
