#include "../shared/gelu.hpp"

struct Gelu : GeluFormula {
  static constexpr void describe(auto& op) {
    op.doc("x times the probability that a standard normal number is below x: x * (1 + erf(x / sqrt(2))) / 2");
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
    const T inside = where(abs(x) < T(40), x, T(0));  // infinity times a density of 0 is no number
    return normal_cdf(x) + T(root) * inside * exp(T(-0.5) * inside * inside);
  }

  /// Within 2^-22, from one exponential for the probability and the density: normal_cdf has full relative precision, and takes twice as
  /// long. The probability that a number is above a = |x| is e^(-a^2/2) times what is smooth, a minimax fit for a from 0 to 5.4.
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
