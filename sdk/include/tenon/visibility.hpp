// What a plugin exports is its operators and kernels alone, however it is compiled: each header of the SDK has
//     #pragma GCC visibility push(hidden)
// around what it defines.
#pragma once

#if __cplusplus < 202002L
#error "Tenon needs C++20: compile with -std=c++20"
// A file that is missing ends the compilation, so that no other error follows.
#define TENON_NEEDS_CXX20 "-std=c++20"
#include TENON_NEEDS_CXX20
#endif

// For types that functions of the host's library take: a hidden one would hide those. Their own functions are hidden one by one.
#define TENON_OPEN __attribute__((visibility("default")))
#define TENON_HIDDEN __attribute__((visibility("hidden")))

// g++ warns where a class that is not hidden, as those of authors who leave out -fvisibility=hidden, derives from a hidden one or holds it:
// of classes and lambdas that no other shared object ever sees. It has no option for that alone.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wattributes"
#endif
