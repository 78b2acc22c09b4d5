// Loops over independent elements, with the widest vectors of the machine.
#pragma once

#include <cstdint>

#include "../version.hpp"
#include "../wide.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Loops take steps of `step` elements, then of `small_step`; the remaining elements are processed
/// one by one.
inline constexpr std::int64_t step = 64, small_step = 16;

// Iterations are independent, although out may be one of the inputs: element i is written only from
// elements i.
#if defined(__clang__)
#define TENON_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TENON_INDEPENDENT _Pragma("GCC ivdep")
#endif

template <std::int64_t step, class Body>
inline std::int64_t in_steps(std::int64_t i, std::int64_t n, const Body& body) {
  for (; i + step <= n; i += step) {
    TENON_INDEPENDENT
    for (std::int64_t k = 0; k < step; ++k) body(i + k);
  }
  return i;
}

/// The remainder after the steps, compiled once: scalar code on every machine.
template <class Body>
TENON_SCALAR_CODE void one_by_one(std::int64_t i, std::int64_t n, const Body& body) {
  for (; i < n; ++i) body(i);
}

/// Calls body(i) for i in [0, n); its iterations must be independent.
template <class Body>
inline void for_each(std::int64_t n, const Body& body) {
  std::int64_t done = 0;
  if (n >= small_step)
    done = wide([=] { return in_steps<small_step>(in_steps<step>(0, n, body), n, body); });
  if (done < n) one_by_one(done, n, body);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop
