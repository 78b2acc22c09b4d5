// Sigmoid, hard_swish and gelu, shared by the operators and by the operators that fuse them.
#pragma once
#include <cstdint>
#include <tenon/elementwise.hpp>
#include <type_traits>

struct SigmoidFormula : tenon::Elementwise {
  template <class T>
  TENON_FN static T sigmoid_of(T x) {
    // e^-|x| does not overflow; the correction restores what rounding loses in 1 + e^-|x|.
    const T e = exp(-abs(x)), sum = T(1) + e, y = where(x < T(0), e, T(1)) / sum;
    return y - y * (e - (sum - T(1)));
  }
};

struct HardSwishFormula : tenon::Elementwise {
  template <class T>
  TENON_FN static T hard_swish_of(T x) {
    return x * max(min(x * T(1.0 / 6) + T(0.5), T(1)), T(0));
  }
};

struct GeluFormula : tenon::Elementwise {
  template <class T>
  TENON_FN static T gelu_of(T x) {
#if !defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<T, float>) return float_gelu(x);
#endif
    return where(x < T(-100), T(-0.0),
                 x * normal_cdf(x));  // also the limit at -infinity, as in float
  }

 private:
  /// Within 2 ulp for x >= 0; for negative x within 4 ulp if the result is below -1e-6, otherwise
  /// within 1e-12. normal_cdf has full relative precision but needs double, which takes half as
  /// long again. The coefficients are minimax fits.
  TENON_FN static float float_gelu(float x) {
    const float size = abs(x),
                a = where(size > 13.2f, 13.2f, size);  // beyond it the result is 0 or x
    // Computes e^(-a^2/2) from the upper half of a's bits, whose square is exact.
    const float high = tenon::bits_as<float>(tenon::bits_as<std::uint32_t>(a) & 0xfffff000u);
    auto power = tenon::elementwise::reduce_exponent<127>(-0.5f * high * high);
    power.low += 0.5f * (a - high) * (a + high);
    const float fraction = tenon::elementwise::exponential_fraction(power),
                scale = tenon::bits_as<float>(power.bits << 23);
    // Multiplies by a smooth, slowly changing function of 1 / (a + 2).
    const float s = 1.0f / (a + 2.0f) - 0.159423828f;
    float smooth =
        (((66.0235443f * s - 42.6116486f) * s - 6.30450726f) * s + 11.7525663f) * s + 0.894177794f;
    smooth = (((smooth * s - 3.21333265f) * s - 1.66826344f) * s - 0.306954056f) * s + 0.379954517f;
    const float scaled = smooth * scale,
                tail = where(size > 13.2f, 0.0f, scaled + scaled * fraction);
    const float z = x * x;
    const float slope =
        (((1.0416712e-4f * z - 1.18243508e-3f) * z + 9.97268036e-3f) * z - 6.64903224e-2f) * z +
        0.398942292f;
    return where(size < 0.7f, x * (0.5f + x * slope), where(x < 0.0f, -0.0f, x) - tail);
  }
};
