// erf of a float within 2 ulp, without branches and calls. The coefficients are minimax fits for
// the two intervals.
#pragma once

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"
#include "exponential.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

TENON_FN inline float vector_erf(float x) {
  const float magnitude = select(x < 0.0f, -x, x);
  const float s = x * x;
  float small = (7.85386146e-5f * s - 8.01019371e-4f) * s + 5.18832775e-3f;
  small = ((small * s - 2.68538129e-2f) * s + 1.12835854e-1f) * s - 3.76126260e-1f;
  small = small * s + 1.28379166e-1f;

  // -log(1 - erf(a)) is smooth for a in [1, 4]; for a >= 4, erf is 1 in float.
  const float a = select(magnitude < 4.0f, magnitude, 4.0f);
  float exponent = (-1.86378995e-4f * a + 2.94765644e-3f) * a - 2.18380559e-2f;
  exponent = ((exponent * a + 1.03106737e-1f) * a + 6.38144851e-1f) * a + 1.12708914f;
  const float large = 1.0f - vector_exp(-(exponent * a + 3.41526000e-4f));
  const float result = select(magnitude < 1.0f, x + x * small, select(x < 0.0f, -large, large));
  return select(x == x, result, x);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
