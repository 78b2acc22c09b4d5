// floor, ceil and rint of a float, free of branches and calls (the C library's are calls on x86-64 without SSE4.1).
#pragma once

#include <cstdint>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// From 2^23 on every float is whole; those, infinities and NaN come back as they are.
TENON_FN inline bool has_fraction_bits(float x) {
  return (x > -8388608.0f) & (x < 8388608.0f);
}

TENON_FN inline float vector_floor(float x) {
  const float inside = select(has_fraction_bits(x), x, 0.0f);
  const float cut = static_cast<float>(static_cast<std::int32_t>(inside));
  const float below = cut - select(cut > inside, 1.0f, 0.0f);
  return select(has_fraction_bits(x) & (x != 0.0f), below, x);  // -0 stays -0
}

TENON_FN inline float vector_ceil(float x) {
  return -vector_floor(-x);
}

TENON_FN inline float vector_rint(float x) {
  const std::uint32_t sign = bits_as<std::uint32_t>(x) & 0x80000000u;  // of -0, too
  const float magnitude = bits_as<float>(bits_as<std::uint32_t>(x) ^ sign);
  const float rounded = (magnitude + 8388608.0f) - 8388608.0f;  // floats of the sum's size are whole
  return bits_as<float>(bits_as<std::uint32_t>(select(magnitude < 8388608.0f, rounded, magnitude)) | sign);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
