// floor, ceil and rint of a float, without branches and calls (on x86-64 without SSE4.1, the C
// library's are calls).
#pragma once

#include <cstdint>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// From 2^23 on every float is an integer; those, infinities and NaN are returned unchanged.
TENON_FN inline bool has_fraction_bits(float x) {
  return (x > -8388608.0f) & (x < 8388608.0f);
}

TENON_FN inline float vector_floor(float x) {
  const float inside = select(has_fraction_bits(x), x, 0.0f);
  const float cut = static_cast<float>(static_cast<std::int32_t>(inside));
  const float below = cut - select(cut > inside, 1.0f, 0.0f);
  return select(has_fraction_bits(x) & (x != 0.0f), below, x);  // preserves -0
}

TENON_FN inline float vector_ceil(float x) {
  return -vector_floor(-x);
}

TENON_FN inline float vector_rint(float x) {
  const std::uint32_t sign = bits_as<std::uint32_t>(x) & 0x80000000u;  // also for -0
  const float magnitude = bits_as<float>(bits_as<std::uint32_t>(x) ^ sign);
  const float rounded =
      (magnitude + 8388608.0f) - 8388608.0f;  // floats of the sum's magnitude are integers
  return bits_as<float>(bits_as<std::uint32_t>(select(magnitude < 8388608.0f, rounded, magnitude)) |
                        sign);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
