// x times the normal distribution's function, in one place for the operator and for what is fused with it.
#pragma once
#include <cstdint>
#include <tenon/elementwise.hpp>
#include <type_traits>

/// For a = |x|: the probability that a standard normal number is above a, and e^(-a^2/2), which it has as a factor.
struct NormalTail {
  float probability, exponential;

  /// In float, half of the work of normal_cdf's double: within 4 units in the last place where a is below 5.4, and 0 from 13.2 on.
  TENON_FN static NormalTail of(float x) {
    using tenon::bits_as, tenon::select;
    const float magnitude = bits_as<float>(bits_as<std::uint32_t>(x) & 0x7fffffffu);
    const bool vanishes = magnitude > 13.2f;
    const float a = select(vanishes, 13.2f, magnitude);
    // a^2/2 in two parts: the square of the first 12 bits is exact.
    const float coarse = bits_as<float>(bits_as<std::uint32_t>(a) & 0xfffff000u);
    auto reduced = tenon::elementwise::reduce_exponent<127>(-0.5f * coarse * coarse);
    reduced.low += 0.5f * (a - coarse) * (a + coarse);
    const float e = (tenon::elementwise::exponential_fraction(reduced) + 1.0f) * bits_as<float>(reduced.bits << 23);
    // What is left is smooth: a minimax fit for a from 0 to 5.4.
    const float above = ((1.31883514e-2f * a + 1.02418240e-1f) * a + 3.30638053e-1f) * a + 4.99999978e-1f;
    const float below = (((3.30826836e-2f * a + 2.56099947e-1f) * a + 8.69102567e-1f) * a + 1.45915798f) * a + 1.0f;
    return {select(vanishes, 0.0f, e * (above / below)), e};
  }
  TENON_FN float below(float x) const { return tenon::select(x < 0.0f, probability, 1.0f - probability); }
};

struct GeluFormula : tenon::Elementwise {
  template <class T>
  TENON_FN static T gelu_of(T x) {
#if !defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<T, float>) return x * NormalTail::of(x).below(x);
#endif
    return x * normal_cdf(x);
  }
  template <class T>
  TENON_FN static T gelu_slope(T x) {
#if !defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<T, float>) {
      const auto tail = NormalTail::of(x);
      return tail.below(x) + x * (0.3989422804014327f * tail.exponential);
    }
#endif
    return normal_cdf(x) + x * (T(0.3989422804014327) * exp(T(-0.5) * x * x));  // 1 / sqrt(2 pi)
  }
};
