// Rectifiers and their relatives.
#include <tenon/elementwise.hpp>

#include "saturate.hpp"
#include "wrapping.hpp"

struct Relu : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("max(x, 0), element by element; NaN stays NaN");
    op.types(tenon::floating + tenon::Types{tenon::i8, tenon::i16, tenon::i32, tenon::i64});
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Relu").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return where(x < T(0), T(0), x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    return where(T(y) > T(0), dy, T(0));
  }
};
TENON_OPERATOR(relu, Relu)

struct LeakyRelu : tenon::Elementwise {
  double slope = 0.01;

  static constexpr void describe(auto& op) {
    op.doc("x where x > 0, else slope * x, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("slope", &LeakyRelu::slope, "slope for negative x");
    op.onnx("", "LeakyRelu").since(6).attribute("alpha", "slope");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return where(x < T(0), T(slope) * x, x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return where(T(x) > T(0), dy, T(slope) * dy);
  }
};
TENON_OPERATOR(leaky_relu, LeakyRelu)

struct Prelu : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("slope * x where x < 0, else x, element by element; integers wrap around");
    op.types(tenon::floating + tenon::Types{tenon::i32, tenon::i64, tenon::u32, tenon::u64});
    op.input("x", "any shape");
    op.input("slope",
             "slope for negative x; a shape that broadcasts with that of x, such as [channels, 1, "
             "1] for one slope per channel of images");
    op.output("y", "the inputs' shapes broadcast together");
    op.onnx("", "PRelu").since(7);
  }

  template <class T>
  TENON_FN T operator()(T x, T slope) const {
    if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else {
      return where(x < T(0),
                   wrapping(
                       slope, x, [](auto l, auto r) { return l * r; }),
                   x);
    }
  }

  template <class T>
  TENON_FN tenon::Pair<T> gradient(T dy, tenon::InputOf<T> x, tenon::InputOf<T> slope) const {
    const T v = x;
    return {where(v < T(0), T(slope) * dy, dy), where(v < T(0), v * dy, T(0))};
  }
};
TENON_OPERATOR(prelu, Prelu)

struct Elu : tenon::Elementwise {
  double alpha = 1;

  static constexpr void describe(auto& op) {
    op.doc("alpha * (exp(x) - 1) where x < 0, else x, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &Elu::alpha, "factor of the negative branch, whose limit is -alpha");
    op.onnx("", "Elu").since(6).attribute("alpha", "alpha");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return where(x < T(0), T(alpha) * expm1(x), x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return where(T(x) < T(0), dy * T(alpha) * exp(T(x)), dy);
  }
};
TENON_OPERATOR(elu, Elu)

struct Celu : tenon::Elementwise {
  double alpha = 1;

  static constexpr void describe(auto& op) {
    op.doc("alpha * (exp(x / alpha) - 1) where x < 0, else x, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &Celu::alpha,
             "factor of the negative branch, whose limit is -alpha; 0: negative x gives 0");
    op.onnx("", "Celu").since(12).attribute("alpha", "alpha");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return where(x < T(0), T(alpha) * expm1(x / T(alpha)), x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return where(T(x) < T(0), dy * exp(T(x) / T(alpha)), dy);
  }
};
TENON_OPERATOR(celu, Celu)

struct Selu : tenon::Elementwise {
  double alpha = 1.67326319217681884765625, gamma = 1.05070102214813232421875;

  static constexpr void describe(auto& op) {
    op.doc("gamma * alpha * (exp(x) - 1) where x < 0, else gamma * x, element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &Selu::alpha, "factor of the negative branch, in addition to gamma");
    op.param("gamma", &Selu::gamma, "factor of the result");
    op.onnx("", "Selu").since(6).attribute("alpha", "alpha").attribute("gamma", "gamma");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return T(gamma) * where(x < T(0), T(alpha) * expm1(x), x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return T(gamma) * where(T(x) < T(0), dy * T(alpha) * exp(T(x)), dy);
  }
};
TENON_OPERATOR(selu, Selu)

struct ThresholdedRelu : tenon::Elementwise {
  double threshold = 1;

  static constexpr void describe(auto& op) {
    op.doc("x where x > threshold, else 0 (also for NaN)");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("threshold", &ThresholdedRelu::threshold, "largest x that becomes 0");
    op.onnx("", "ThresholdedRelu").since(10).attribute("alpha", "threshold");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return where(x > T(threshold), x, T(0));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return where(T(x) > T(threshold), dy, T(0));
  }
};
TENON_OPERATOR(thresholded_relu, ThresholdedRelu)

struct Shrink : tenon::Elementwise {
  double bias = 0, threshold = 0.5;

  static constexpr void describe(auto& op) {
    op.doc("x + bias where x < -threshold, x - bias where x > threshold, else 0 (also for NaN)");
    op.types(tenon::any_real);
    op.input("x", "any shape");
    op.output("y", "same shape as x; integers are computed in float64 and truncated toward zero");
    op.param("bias", &Shrink::bias,
             "amount by which x is moved toward zero; equal to threshold: torch's softshrink; 0: "
             "torch's hardshrink");
    op.param("threshold", &Shrink::threshold, "largest absolute value that becomes 0");
    op.onnx("", "Shrink").since(9).attribute("bias", "bias").attribute("lambd", "threshold");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return saturate<T>(shrunk(static_cast<double>(x)));
    } else {
      return shrunk(x);
    }
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T v = x;
    return where(v < T(-threshold), dy, where(v > T(threshold), dy, T(0)));
  }

 private:
  template <class T>
  TENON_FN T shrunk(T x) const {
    return where(x < T(-threshold), x + T(bias), where(x > T(threshold), x - T(bias), T(0)));
  }
};
TENON_OPERATOR(shrink, Shrink)
