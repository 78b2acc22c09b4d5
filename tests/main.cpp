// The main of every test program: doctest's is slow to compile, so it is compiled once.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

// Asking for more memory than there is must fail as it does without AddressSanitizer, which would end the program.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}

// Leaks are searched for in the test programs. In programs that they start, LeakSanitizer of g++ 12 now and then dies at the end, where
// threads of oneDNN are still there; the sanitizers read this variable when a program begins, so only those programs see the change.
static const int leaks_of_started_programs = [] {
  const char* given = std::getenv("ASAN_OPTIONS");
  return setenv("ASAN_OPTIONS", (std::string(given == nullptr ? "" : given) + ":detect_leaks=0").c_str(), 1);
}();
