// The main of every test program: doctest's is slow to compile, so it is compiled once.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdio>

// What a test has said by the time it is killed is in the log.
[[maybe_unused]] static const int line_by_line = std::setvbuf(stdout, nullptr, _IOLBF, 0);

// Asking for more memory than there is must fail as it does without AddressSanitizer, which would end the program.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
