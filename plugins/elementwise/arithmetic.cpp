// Arithmetic, bounds and distances.
#include <cmath>
#include <limits>
#include <tenon/elementwise.hpp>
#include <type_traits>

#include "saturate.hpp"
#include "wrapping.hpp"

struct Add : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "left + right, element by element; integers wrap around. Two csr or two row_sparse tensors "
        "of equal shape give a tensor of that "
        "storage");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("left", "first addend, any shape");
    op.input("right", "second addend; a shape that broadcasts with that of left");
    op.output("output", "the inputs' shapes broadcast together");
    op.linear("left");
    op.linear("right");
    op.onnx("", "Add").since(7);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return wrapping(left, right, [](auto l, auto r) { return l + r; });
  }

  template <class T>
  TENON_FN tenon::Pair<T> gradient(T dy) const {
    return {dy, dy};
  }
};
TENON_OPERATOR(add, Add)

struct Sub : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "left - right, element by element; integers wrap around. Two csr or two row_sparse tensors "
        "of equal shape give a tensor of that "
        "storage");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("left", "minuend, any shape");
    op.input("right", "subtrahend; a shape that broadcasts with that of left");
    op.output("output", "the inputs' shapes broadcast together");
    op.linear("left");
    op.linear("right");
    op.onnx("", "Sub").since(7);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return wrapping(left, right, [](auto l, auto r) { return l - r; });
  }

  template <class T>
  TENON_FN tenon::Pair<T> gradient(T dy) const {
    return {dy, -dy};
  }
};
TENON_OPERATOR(sub, Sub)

struct Mul : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "left * right, element by element; integers wrap around. The product of a sparse and a "
        "dense tensor has the storage and the stored elements of the sparse one; the product of "
        "two tensors of the same sparse storage has the elements that both store");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("left", "first factor, any shape");
    op.input("right", "second factor; a shape that broadcasts with that of left");
    op.zero_where("left");
    op.zero_where("right");
    op.output("output", "the inputs' shapes broadcast together");
    op.linear("left", "right");
    op.onnx("", "Mul").since(7);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return wrapping(left, right, [](auto l, auto r) { return l * r; });
  }
};
TENON_OPERATOR(mul, Mul)

struct Div : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "left / right, element by element; integers give float64. Sparse (csr or row_sparse) left "
        "and dense right give output of the storage of left: NaN from 0 / 0 becomes a stored "
        "element, but is an error if right is broadcast");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("left", "dividend, any shape");
    op.input("right", "divisor; a shape that broadcasts with that of left");
    op.zero_where("left");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "Div").since(7).types(
        tenon::floating);  // ONNX's Div truncates integers: see int_divide
  }

  template <class T>
  TENON_FN auto operator()(T left, T right) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<double>(left) / static_cast<double>(right);
    } else {
      return left / right;
    }
  }
};
TENON_OPERATOR(div, Div)

struct IntDivide : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "integer division left / right, element by element, truncated toward zero; division by 0 "
        "gives 0");
    op.types(tenon::any_integer);
    op.input("left", "dividend, any shape");
    op.input("right", "divisor; a shape that broadcasts with that of left");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "Div").since(7).types(tenon::any_integer);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return where(right == T(0), T(0), T(left / safe_divisor(left, right)));
  }
};
TENON_OPERATOR(int_divide, IntDivide)

struct Mod : tenon::Elementwise {
  bool truncate = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "remainder left - right * floor(left / right), element by element, as torch.remainder; a "
        "zero divisor gives NaN, or 0 for integers");
    op.types(tenon::any_real);
    op.input("left", "dividend, any shape");
    op.input("right", "divisor; a shape that broadcasts with that of left");
    op.output("output",
              "the inputs' shapes broadcast together; the remainder has the sign of right, or of "
              "left if `fmod` is set");
    op.param("fmod", &Mod::truncate,
             "remainder left - right * trunc(left / right), with the sign of left, as torch.fmod "
             "and C's %; false: with the sign of right");
    op.onnx("", "Mod").since(10).attribute("fmod", "fmod");
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    if constexpr (std::is_unsigned_v<T>) {
      return T(left % safe_divisor(left, right));
    } else {
      const T rest = remainder_of(left, right);
      const T none =
          where(right < T(0), T(-T(0)), T(0));  // a zero remainder also has the sign of right
      const T sum = wrapping(rest, right, [](auto l, auto r) { return l + r; });
      const T moved = where(rest == T(0), none, where((rest < T(0)) != (right < T(0)), sum, rest));
      return where(truncate, rest, moved);
    }
  }

  template <class T>
  TENON_FN tenon::Pair<T> gradient(T dy, tenon::InputOf<T> left, tenon::InputOf<T> right) const {
    const T l = left, r = right;
    return {dy, -dy * rint((l - (*this)(l, r)) / r)};
  }

 private:
  template <class T>
  TENON_FN static T remainder_of(T left, T right) {
    if constexpr (std::is_integral_v<T>) {
      return T(left % safe_divisor(left, right));
    } else {
      return std::fmod(left, right);
    }
  }
};
TENON_OPERATOR(mod, Mod)

struct Neg : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("-x, element by element; integers wrap around");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.linear("x");
    op.onnx("", "Neg").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return wrapping(x, x,
                    [](auto v, auto) { return -v; });  // not 0 - x, which would lose the sign of 0
  }
};
TENON_OPERATOR(neg, Neg)

struct Abs : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc(
        "absolute value |x|, element by element; the magnitude for complex x; the minimum of a "
        "signed integer type is returned unchanged");
    op.types(tenon::any_real + tenon::any_complex);
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Abs").since(6);
  }

  template <class T>
  TENON_FN auto operator()(T x) const {
    if constexpr (tenon::is_complex<T>)
      return std::hypot(x.re, x.im);
    else
      return T(abs(x));
  }

  /// For complex x, the subgradient is dy * x / |x|, and 0 at 0.
  template <class D, class T>
  TENON_FN T gradient(D dy, tenon::InputOf<T> x) const {
    const T value = x;
    if constexpr (tenon::is_complex<T>) {
      const auto length = std::hypot(value.re, value.im);
      return length == 0 ? T(0) : T(dy * value.re / length, dy * value.im / length);
    } else {
      return where(value > T(0), dy, where(value < T(0), -dy, value * T(0)));  // propagates nan
    }
  }
};
TENON_OPERATOR(abs, Abs)

struct Maximum : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the larger of left and right, element by element; NaN if either is NaN");
    op.types(tenon::any_real);
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "Max").since(6);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return max(left, right);
  }
};
TENON_OPERATOR(maximum, Maximum)

struct Minimum : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("the smaller of left and right, element by element; NaN if either is NaN");
    op.types(tenon::any_real);
    op.input("left", "first operand, any shape");
    op.input("right", "second operand; a shape that broadcasts with that of left");
    op.output("output", "the inputs' shapes broadcast together");
    op.onnx("", "Min").since(6);
  }

  template <class T>
  TENON_FN T operator()(T left, T right) const {
    return min(left, right);
  }
};
TENON_OPERATOR(minimum, Minimum)

struct Clip : tenon::Elementwise {
  double low = 0, high = 0;

  static constexpr void describe(auto& op) {
    op.doc("x clamped to [low, high], element by element; NaN stays NaN");
    op.types(tenon::any_real);
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.param("low", &Clip::low, "lower bound; truncated toward zero for integer x").required();
    op.param("high", &Clip::high, "upper bound; truncated toward zero for integer x").required();
    op.example({{"x", {2, 3}}}, {{"low", -0.5}, {"high", 0.5}});
    constexpr double end = 3.4028234663852886e+38,
                     infinity = std::numeric_limits<double>::infinity();
    op.onnx("", "Clip")
        .since(6)
        .until(10)
        .attribute("min", "low", -end)
        .attribute("max", "high", end);
    op.onnx("", "Clip").since(11).input_as("low", 1, -infinity).input_as("high", 2, infinity);
  }

  void configure() {
    if (!(low <= high))
      throw tenon::Error(tenon::ErrorKind::parameter, "low is ", low, " and high is ", high,
                         "; needs low <= high");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    const T lowest = bound<T>(low), highest = bound<T>(high);
    return where(x < lowest, lowest, where(x > highest, highest, x));
  }

 private:
  template <class T>
  TENON_FN static T bound(double value) {
    if constexpr (std::is_integral_v<T>) {
      return saturate<T>(value);
    } else {
      return T(value);
    }
  }
};
TENON_OPERATOR(clip, Clip)

// An explicit derivative. Its signature declares that it reads the input and not the output, so the
// output's memory is free as soon as its readers are done.     Also compiles as CUDA.

struct SmoothL1 : tenon::Elementwise {
  float sigma = 1;

  static constexpr void describe(auto& op) {
    op.doc("0.5 (sigma x)^2 where |x| < 1/sigma^2, |x| - 0.5/sigma^2 elsewhere");
    op.input("data",
             "any shape; the x of the formula, usually a difference of prediction and target");
    op.output("output", "same shape as data");
    op.gradient_of_duals();
    op.param("sigma", &SmoothL1::sigma,
             "position of the transition from quadratic to linear, at |x| = 1/sigma^2; 1 / "
             "sqrt(beta) of torch.nn.SmoothL1Loss")
        .greater_than(0);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    const T s2 = T(sigma) * T(sigma);
    return where(abs(x) < T(1) / s2, T(0.5) * s2 * x * x, abs(x) - T(0.5) / s2);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T s2 = T(sigma) * T(sigma), v = x;
    return dy * where(abs(v) < T(1) / s2, s2 * v, where(v > T(0), T(1), T(-1)));
  }
};
TENON_OPERATOR(smooth_l1, SmoothL1)
