// The main() of all test programs. Compiling doctest's implementation is slow, so it is compiled
// once.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>

// Line-buffered, so that the log is complete if a test is killed.
[[maybe_unused]] static const int line_by_line = std::setvbuf(stdout, nullptr, _IOLBF, 0);

// Allocations that exceed memory must fail as without AddressSanitizer, which would end the
// program.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
