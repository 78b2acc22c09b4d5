// Loops for the widest vectors that the machine has, in one shared object that every x86-64 machine can run.
//
//     call.parallel_for(rows, 64, [&](std::int64_t begin, std::int64_t end) {
//       tenon::wide([&] {
//         for (std::int64_t i = begin * width; i < end * width; ++i) y[i] = scale * x[i];
//       });
//     });
//
// The body is compiled three times: for plain x86-64 (16-byte vectors), for x86-64-v3 (AVX2, 32 bytes) and for x86-64-v4 (AVX-512, 64
// bytes). Which of them runs is found when the first one does, once in a plugin. All that the body calls becomes part of it, unless it is
// compiled elsewhere (std::pow) or declared [[gnu::noinline]]. Elementwise operators run so by themselves.
//
// The results have the same bits on all machines: products and sums are never contracted to one fused operation, and compilers keep the
// order of a sum as it is written. A sum becomes vector code where it is written with a fixed number of partial sums.
//
// TENON_WIDE=plain or v3 in the environment keeps plugins from using wider vectors than that, for tests and for measurements.
// -DTENON_NO_WIDE compiles the body once, for what the compiler was told, as on other processors and by nvcc.
#pragma once

#include "vector_level.hpp"
#include "version.hpp"

// How loops are compiled. GCC 12 makes vector code at -O2 only of loops with a constant count unless it is told otherwise. clang contracts
// in the source that it reads, not in the function that it makes, so that it is told for all that follows.
#if defined(__CUDACC__)
#define TENON_WIDE_CODE inline
#define TENON_SCALAR_CODE inline
#elif defined(__clang__)
#pragma clang fp contract(off)
#define TENON_WIDE_CODE __attribute__((noinline, flatten))
#define TENON_SCALAR_CODE TENON_WIDE_CODE
#define TENON_WIDE_TARGET_V4 "avx2,fma,f16c,bmi,bmi2,lzcnt,movbe,avx512f,avx512bw,avx512vl,avx512dq,avx512cd"
#else
#define TENON_WIDE_CODE \
  __attribute__((noinline, flatten, optimize("fp-contract=off", "no-math-errno", "no-trapping-math", "vect-cost-model=dynamic")))
#define TENON_SCALAR_CODE __attribute__((noinline, flatten, optimize("fp-contract=off", "no-math-errno", "no-tree-vectorize")))
#define TENON_WIDE_TARGET_V4 "avx2,fma,f16c,bmi,bmi2,lzcnt,movbe,avx512f,avx512bw,avx512vl,avx512dq,avx512cd,prefer-vector-width=512"
#endif
#define TENON_WIDE_TARGET_V3 "avx2,fma,f16c,bmi,bmi2,lzcnt,movbe"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

namespace detail {

#if defined(TENON_WIDE_LEVELS)
// Each runs a copy of the body, which nothing that the loop writes can change: what it holds stays in registers.
template <class Body>
TENON_WIDE_CODE __attribute__((target(TENON_WIDE_TARGET_V4))) auto run_v4(const Body& body) -> decltype(body()) {
  const Body own = body;
  return own();
}
template <class Body>
TENON_WIDE_CODE __attribute__((target(TENON_WIDE_TARGET_V3))) auto run_v3(const Body& body) -> decltype(body()) {
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

/// body(), compiled for the widest vectors that this machine has, and what it returns: a function without arguments, of which a copy runs.
/// Let it hold what its loop uses by value, as [=] does: what it holds by reference is read again after each write to an array.
///
/// Threads: any number may call it at once. What the body throws passes through. A call costs 2 ns: loops over few elements belong into a
/// loop around them that is inside the body, too. Error (failed): TENON_WIDE in the environment is not one of its values.
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
