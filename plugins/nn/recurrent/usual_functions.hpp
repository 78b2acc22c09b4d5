// The usual activation functions of recurrent cells, for vectorized loops.
#pragma once
#include <tenon/elementwise.hpp>

#include "function.hpp"

namespace recurrent {

// As the functions of Elementwise, with less work: arguments are clamped to where results change,
// NaN stays NaN.

inline float clamped(float x, float min, float max) {
  const float above = tenon::select(x < min, min, x);
  return tenon::select(above > max, max, above);
}

/// 1 / (1 + e^-x) within 3 ulp; 0 below -88.4.
struct Sigmoid {
  float operator()(float x) const {
    const auto power = tenon::elementwise::reduce_exponent<127>(clamped(-x, -87, 89));
    const float e = tenon::elementwise::exponential_of(power.high - power.low) *
                    tenon::bits_as<float>(power.bits << 23);  // infinity for 2^128
    return 1 / (1 + e);
  }
  float slope(float x) const {
    const float y = (*this)(x);
    return y * (1 - y);
  }
};

/// m / (m + 2) within 3 ulp, where m = e^2x - 1.
struct Tanh {
  float operator()(float x) const {
    const auto power = tenon::elementwise::reduce_exponent<126>(clamped(2 * x, -18, 30));
    const float half = tenon::bits_as<float>(power.bits << 23),
                m = 2 * (tenon::elementwise::exponential_fraction(power) * half + (half - 0.5F));
    return m / (m + 2);
  }
  float slope(float x) const {
    const float y = (*this)(x);
    return 1 - y * y;
  }
};

/// Whether a unit computes Sigmoid and Tanh.
inline bool are_usual(const Function& gate, const Function& candidate) {
  return gate.kind == Kind::sigmoid && candidate.kind == Kind::tanh && gate.clip <= 0 &&
         candidate.clip <= 0;
}

}  // namespace recurrent
