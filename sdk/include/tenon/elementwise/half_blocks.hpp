// Conversion of blocks between half and float, with the CPU's instructions if available; they give
// the bits of half.hpp.
#pragma once

#include <cstdint>
#include <cstring>

#include "../half.hpp"
#include "../version.hpp"
#include "../wide.hpp"
#include "for_each.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

#if defined(TENON_WIDE_LEVELS)
using EightHalves = short __attribute__((vector_size(16)));
using EightFloats = float __attribute__((vector_size(32)));

/// Converts as many elements as there are whole groups of eight; returns their number.
[[gnu::noinline]] __attribute__((target(TENON_WIDE_TARGET_V3))) inline std::int64_t widen_eights(
    const half* from, float* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    EightHalves halves;
    std::memcpy(&halves, from + i, sizeof halves);
    const EightFloats floats = __builtin_ia32_vcvtph2ps256(halves);
    std::memcpy(to + i, &floats, sizeof floats);
  }
  return i;
}
[[gnu::noinline]] __attribute__((target(TENON_WIDE_TARGET_V3))) inline std::int64_t round_eights(
    const float* from, half* to, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    EightFloats floats;
    std::memcpy(&floats, from + i, sizeof floats);
    const EightHalves halves = __builtin_ia32_vcvtps2ph256(
        floats, 0);  // 0: to nearest, ties to even, whatever the rounding mode
    std::memcpy(static_cast<void*>(to + i), &halves, sizeof halves);
  }
  return i;
}
#endif

inline void widen_halves(const half* from, float* to, std::int64_t n) {
  std::int64_t done = 0;
#if defined(TENON_WIDE_LEVELS)
  if (n >= 8 && detail::usable_vector_level() != detail::VectorLevel::plain)
    done = widen_eights(from, to, n);
#endif
  for_each(n - done, [from = from + done, to = to + done](std::int64_t i) { to[i] = from[i]; });
}

inline void round_to_halves(const float* from, half* to, std::int64_t n) {
  std::int64_t done = 0;
#if defined(TENON_WIDE_LEVELS)
  if (n >= 8 && detail::usable_vector_level() != detail::VectorLevel::plain)
    done = round_eights(from, to, n);
#endif
  for_each(n - done, [from = from + done, to = to + done](std::int64_t i) { to[i] = from[i]; });
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
