// The standard normal CDF of a float within 1 ulp, including the tails, without branches and calls.
// The coefficients are a minimax fit for the interval.
#pragma once

#include <cstdint>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"
#include "power.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Returns the standard normal CDF at x. At -a it is e^(-a^2/2) times a function that is smooth
/// from a = 0 to 14.5, where the CDF falls below the smallest float. Computed in double, because
/// a^2 has 48 bits.
TENON_FN inline float vector_normal_cdf(float x) {
  const float magnitude = bits_as<float>(bits_as<std::uint32_t>(x) & 0x7fffffffu);
  const double a = select(magnitude > 14.5f, 14.5f, magnitude);
  const double above =
      (((0.0041238229 * a + 0.0406837685) * a + 0.183384941) * a + 0.438496951) * a + 0.500000003;
  const double below =
      ((((0.010336773 * a + 0.101985463) * a + 0.469866134) * a + 1.20312504) * a + 1.67487889) *
          a +
      1.0;
  const double tail = exp2_for_float(a * a * -0.72134752044448170) * (above / below);
  return static_cast<float>(select(x < 0.0f, tail, 1.0 - tail));
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
