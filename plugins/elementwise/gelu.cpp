#include "../shared/gelu.hpp"

struct Gelu : GeluFormula {
  static constexpr void describe(auto& op) {
    op.doc("Gaussian error linear unit: x * (1 + erf(x / sqrt(2))) / 2, x times the standard normal CDF at x");
    op.input("x", "any numbers");
    op.output("y", "same shape as x");
    op.gradient_of_duals();
    op.onnx("", "Gelu").since(20).only("approximate", "none");
  }

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
    const float above = ((1.31883514e-2f * a + 1.02418240e-1f) * a + 3.30638053e-1f) * a + 4.99999978e-1f;
    const float below = (((3.30826836e-2f * a + 2.56099947e-1f) * a + 8.69102567e-1f) * a + 1.45915798f) * a + 1.0f;
    const float tail = e * (above / below), moved = static_cast<float>(root) * a * e;
    return where(x < 0.0f, tail - moved, (1.0f - tail) + moved);
  }
};
TENON_OPERATOR(gelu, Gelu)
