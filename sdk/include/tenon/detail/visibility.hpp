// A plugin exports only its operators and kernels, however it is compiled: each header of the SDK
// wraps its definitions in
//     #pragma GCC visibility push(hidden)
// and the matching pop.
#pragma once

#if __cplusplus < 202002L
#error "Tenon needs C++20: compile with -std=c++20"
// A missing file ends the compilation, so that no other error follows.
#define TENON_NEEDS_CXX20 "-std=c++20"
#include TENON_NEEDS_CXX20
#endif

// For types in the interface of the host's library: hidden types would hide its functions. The
// types' own functions are hidden one by one.
#define TENON_OPEN __attribute__((visibility("default")))
#define TENON_HIDDEN __attribute__((visibility("hidden")))

// g++ warns if a class that is not hidden, such as an author's without -fvisibility=hidden, derives
// from a hidden one or contains it, also for classes and lambdas that no other shared object ever
// sees. It has no option to disable only those warnings.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wattributes"
#endif
