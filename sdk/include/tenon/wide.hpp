// Multi-versioned loops: use the widest vectors of the machine, in one shared object that runs on
// every x86-64 machine.
//
//     call.parallel_for(rows, 64, [&](std::int64_t begin, std::int64_t end) {
//       tenon::wide([&] {
//         for (std::int64_t i = begin * width; i < end * width; ++i) y[i] = scale * x[i];
//       });
//     });
//
// The body is compiled three times: for plain x86-64 (16-byte vectors), for x86-64-v3 (AVX2, 32
// bytes) and for x86-64-v4 (AVX-512, 64 bytes). The version is chosen on the first call in a
// plugin. Functions that the body calls are inlined into it, unless they are compiled elsewhere
// (std::pow) or declared [[gnu::noinline]]. Elementwise operators use this automatically.
//
// The results have the same bits on all machines: products and sums are never contracted to fused
// operations, and compilers keep the order of a sum as written. To vectorise a sum, write it with a
// fixed number of partial sums.
//
// The environment variable TENON_WIDE=plain or v3 keeps plugins from using wider vectors, for tests
// and measurements. -DTENON_NO_WIDE compiles the body once, for the compiler's target, as on other
// architectures and with nvcc.
#pragma once

#include "detail/vector_level.hpp"
#include "version.hpp"

// How loops are compiled. At -O2, GCC 12 vectorises only loops with a constant count, unless an
// option requests more. clang decides on contraction per source and not per function, so it is
// disabled for everything that follows.
#if defined(__CUDACC__)
#define TENON_WIDE_CODE inline
#define TENON_SCALAR_CODE inline
#elif defined(__clang__)
#pragma clang fp contract(off)
#define TENON_WIDE_CODE __attribute__((noinline, flatten))
#define TENON_SCALAR_CODE TENON_WIDE_CODE
#define TENON_WIDE_TARGET_V4 \
  "avx2,fma,f16c,bmi,bmi2,lzcnt,movbe,avx512f,avx512bw,avx512vl,avx512dq,avx512cd"
#else
#define TENON_WIDE_CODE                                                           \
  __attribute__((noinline, flatten,                                               \
                 optimize("fp-contract=off", "no-math-errno", "no-trapping-math", \
                          "vect-cost-model=dynamic")))
#define TENON_SCALAR_CODE           \
  __attribute__((noinline, flatten, \
                 optimize("fp-contract=off", "no-math-errno", "no-tree-vectorize")))
#define TENON_WIDE_TARGET_V4                                                                      \
  "avx2,fma,f16c,bmi,bmi2,lzcnt,movbe,avx512f,avx512bw,avx512vl,avx512dq,avx512cd,prefer-vector-" \
  "width=512"
#endif
#define TENON_WIDE_TARGET_V3 "avx2,fma,f16c,bmi,bmi2,lzcnt,movbe"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

namespace detail {

#if defined(TENON_WIDE_LEVELS)
// Each runs a copy of the body, which the loop's stores cannot alias: captured values stay in
// registers.
template <class Body>
TENON_WIDE_CODE __attribute__((target(TENON_WIDE_TARGET_V4))) auto run_v4(const Body& body)
    -> decltype(body()) {
  const Body own = body;
  return own();
}
template <class Body>
TENON_WIDE_CODE __attribute__((target(TENON_WIDE_TARGET_V3))) auto run_v3(const Body& body)
    -> decltype(body()) {
  const Body own = body;
  return own();
}
#endif

template <class Body>
TENON_WIDE_CODE auto run_plain(const Body& body) -> decltype(body()) {
  const Body own = body;
  return own();
}

}  // namespace detail

/// Calls a copy of body(), compiled for the widest vectors of this machine, and returns its result;
/// body has no arguments. Capture what the loop uses by value, as with [=]: values captured by
/// reference are reloaded after each store to an array.
///
/// Thread-safe. Exceptions of the body are passed on. A call costs 2 ns: put loops over few
/// elements into an outer loop inside the body. Error (failed): TENON_WIDE in the environment has
/// an invalid value.
template <class Body>
inline auto wide(const Body& body) -> decltype(body()) {
#if defined(TENON_WIDE_LEVELS)
  switch (detail::usable_vector_level()) {
    case detail::VectorLevel::v4:
      return detail::run_v4(body);
    case detail::VectorLevel::v3:
      return detail::run_v3(body);
    default:
      break;
  }
#endif
  return detail::run_plain(body);
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
