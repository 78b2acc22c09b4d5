// Other activation functions.
#include <tenon/elementwise.hpp>

#include "../shared/activation_formulas.hpp"

struct Sigmoid : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("1 / (1 + exp(-x)), element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Sigmoid").since(6);
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return SigmoidFormula::sigmoid_of(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    const T v = y;
    return dy * v * (T(1) - v);
  }
};
TENON_OPERATOR(sigmoid, Sigmoid)

struct HardSigmoid : tenon::Elementwise {
  double alpha = 0.2, beta = 0.5;

  static constexpr void describe(auto& op) {
    op.doc("clamp(alpha * x + beta, 0, 1), element by element; NaN stays NaN");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &HardSigmoid::alpha, "slope of the linear segment");
    op.param("beta", &HardSigmoid::beta, "value at x = 0");
    op.onnx("", "HardSigmoid").since(6).attribute("alpha", "alpha").attribute("beta", "beta");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return max(min(T(alpha) * x + T(beta), T(1)), T(0));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
    const T v = y;
    return where(v > T(0), where(v < T(1), T(alpha) * dy, T(0)), T(0));
  }
};
TENON_OPERATOR(hard_sigmoid, HardSigmoid)

struct Swish : SigmoidFormula {
  double alpha = 1;

  static constexpr void describe(auto& op) {
    op.doc("x * sigmoid(alpha * x), element by element; SiLU if alpha is 1");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.param("alpha", &Swish::alpha, "factor of x inside the sigmoid");
    op.rule("product", "mul(x, sigmoid(x))", "swish(x)");
    op.rule("product_on_the_right", "mul(sigmoid(x), x)", "swish(x)");
    op.onnx("", "Swish").since(24).attribute("alpha", "alpha");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return x * sigmoid_of(T(alpha) * x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T scaled = T(alpha) * T(x), y = sigmoid_of(scaled);
    const T inside = where(abs(scaled) < T(1000), scaled, T(0));  // inf * 0 would be nan
    return dy * (y + inside * y * sigmoid_of(-scaled));
  }
};
TENON_OPERATOR(swish, Swish)

struct HardSwish : HardSwishFormula {
  static constexpr void describe(auto& op) {
    op.doc("x * clamp(x / 6 + 1/2, 0, 1), element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    describe_rules(op);
    op.onnx("", "HardSwish").since(14);
  }

#define TENON_HARD "hard_sigmoid(x; alpha=0.16666666666666666, beta=0.5)"
#define TENON_CLIPPED "clip(add(x, 3); low=0, high=6)"
  static constexpr void describe_rules(auto& op) {
    op.rule("hard_sigmoid", "mul(x, " TENON_HARD ")", "hard_swish(x)");
    op.rule("hard_sigmoid_on_the_left", "mul(" TENON_HARD ", x)", "hard_swish(x)");
    op.rule("product_of_clip", "div(mul(x, " TENON_CLIPPED "), 6)", "hard_swish(x)");
    op.rule("product_with_clip", "div(mul(" TENON_CLIPPED ", x), 6)", "hard_swish(x)");
    op.rule("clip", "mul(x, div(" TENON_CLIPPED ", 6))", "hard_swish(x)");
    op.rule("clip_on_the_left", "mul(div(" TENON_CLIPPED ", 6), x)", "hard_swish(x)");
  }
#undef TENON_CLIPPED
#undef TENON_HARD

  template <class T>
  TENON_FN T operator()(T x) const {
    return hard_swish_of(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T v = x;
    return where(v < T(-3), T(0), where(v > T(3), dy, dy * (v * T(1.0 / 3) + T(0.5))));
  }
};
TENON_OPERATOR(hard_swish, HardSwish)

struct Gelu : GeluFormula {
  static constexpr void describe(auto& op) {
    op.doc(
        "Gaussian error linear unit: x * (1 + erf(x / sqrt(2))) / 2, x times the standard normal "
        "CDF at x");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Gelu").since(20).only("approximate", "none");
    describe_rules(op);
  }

// The forms in which programs write it: with a division or a product, and halved before or after.
#define TENON_CDF "add(erf(div(x, 1.4142135623730951)), 1)"
#define TENON_CDF_BY_PRODUCT "add(erf(mul(x, 0.7071067811865476)), 1)"
  static constexpr void describe_rules(auto& op) {
    op.rule("halved_product", "mul(mul(x, " TENON_CDF "), 0.5)", "gelu(x)");
    op.rule("halved_product_on_the_right", "mul(0.5, mul(x, " TENON_CDF "))", "gelu(x)");
    op.rule("halved_x", "mul(mul(x, 0.5), " TENON_CDF ")", "gelu(x)");
    op.rule("halved_x_on_the_right", "mul(mul(0.5, x), " TENON_CDF ")", "gelu(x)");
    op.rule("halved", "mul(x, mul(" TENON_CDF ", 0.5))", "gelu(x)");
    op.rule("halved_product_by_product", "mul(mul(x, " TENON_CDF_BY_PRODUCT "), 0.5)", "gelu(x)");
    op.rule("halved_x_by_product", "mul(mul(x, 0.5), " TENON_CDF_BY_PRODUCT ")", "gelu(x)");
    op.rule("halved_by_product", "mul(x, mul(" TENON_CDF_BY_PRODUCT ", 0.5))", "gelu(x)");
  }
#undef TENON_CDF_BY_PRODUCT
#undef TENON_CDF

  template <class T>
  TENON_FN T operator()(T x) const {
    return gelu_of(x);
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return dy * slope(T(x));
  }

 private:
  static constexpr double root = 0.3989422804014327;  // 1 / sqrt(2 pi)

  template <class T>
  TENON_FN static T slope(T x) {
#if !defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<T, float>) return float_slope(x);
#endif
    const T inside = where(abs(x) < T(40), x, T(0));  // inf * 0 would be nan
    return normal_cdf(x) + T(root) * inside * exp(T(-0.5) * inside * inside);
  }

  /// The derivative within 2^-22. One exponential serves the CDF and the density; normal_cdf has
  /// full relative precision but takes twice as long. With a = |x|, the upper tail of the CDF is
  /// e^(-a^2/2) times a smooth function, here a minimax fit for a in [0, 5.4].
  TENON_FN static float float_slope(float x) {
    const float size = abs(x), a = where(size > 15.0f, 15.0f, size);
    const float e = tenon::elementwise::vector_exp_below_zero(-0.5f * a * a);
    const float above =
        ((1.31883514e-2f * a + 1.02418240e-1f) * a + 3.30638053e-1f) * a + 4.99999978e-1f;
    const float below =
        (((3.30826836e-2f * a + 2.56099947e-1f) * a + 8.69102567e-1f) * a + 1.45915798f) * a + 1.0f;
    const float tail = e * (above / below), moved = static_cast<float>(root) * a * e;
    return where(x < 0.0f, tail - moved, (1.0f - tail) + moved);
  }
};
TENON_OPERATOR(gelu, Gelu)

struct GeluTanh : SigmoidFormula {
  static constexpr void describe(auto& op) {
    op.doc("tanh approximation of gelu: x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return x * sigmoid_of(inner(x));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T v = x, u = inner(v), y = sigmoid_of(u);
    const T inside = where(abs(v) < T(40), v, T(0));  // inf * 0 would be nan
    return dy * (y + inside * y * sigmoid_of(-u) * (T(root) + T(3 * cubic) * inside * inside));
  }

 private:
  static constexpr double root = 1.5957691216057308,
                          cubic = 0.071354816272600248;  // 2 sqrt(2 / pi), and 0.044715 times it

  /// The argument of sigmoid: (1 + tanh(u)) / 2 == sigmoid(2 u).
  template <class T>
  TENON_FN static T inner(T x) {
    return x * (T(root) + T(cubic) * x * x);
  }
};
TENON_OPERATOR(gelu_tanh, GeluTanh)

struct Mish : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x * tanh(log(1 + exp(x))), element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Mish").since(18);
  }

  /// With e = exp(x) and n = e * (e + 2), tanh(log(1 + e)) is n / (n + 2), which is 1 for x >= 40.
  template <class T>
  TENON_FN T operator()(T x) const {
    const T e = exp(min(x, T(40))), n = e * (e + T(2));
    return x * (n / (n + T(2)));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T v = x, e = exp(min(v, T(40))), n = e * (e + T(2)), below = n + T(2);
    const T inside = where(abs(v) < T(1000), v, T(0));  // inf * 0 would be nan
    return dy * (n / below + inside * (T(4) * e / below) * ((e + T(1)) / below));
  }
};
TENON_OPERATOR(mish, Mish)

struct Softplus : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("log(1 + exp(x)), element by element, computed without overflow");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Softplus");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return max(x, T(0)) + log1p(exp(-abs(x)));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    return dy / (T(1) + exp(-T(x)));
  }
};
TENON_OPERATOR(softplus, Softplus)

struct Softsign : tenon::Elementwise {
  static constexpr void describe(auto& op) {
    op.doc("x / (1 + |x|), element by element");
    op.input("x", "any shape");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Softsign");
  }

  template <class T>
  TENON_FN T operator()(T x) const {
    return x / (T(1) + abs(x));
  }

  template <class T>
  TENON_FN T gradient(T dy, tenon::InputOf<T> x) const {
    const T factor = T(1) / (T(1) + abs(T(x)));
    return dy * factor * factor;
  }
};
TENON_OPERATOR(softsign, Softsign)
