// Runs the program with system calls that fail or end it.
#pragma once
#include <cstdlib>
#include <string>

#include "cli/run_program.hpp"

/// Rules as documented in tests/preload/failing_calls.c: `fsync,m.tenon,1,1,error 5`.
inline ProgramPlace with_calls(const std::string& rules) {
  // AddressSanitizer otherwise insists on being the first library
  const char* options = std::getenv("ASAN_OPTIONS");
  ProgramPlace place;
  place.environment = {{"LD_PRELOAD", TENON_TEST_FAILING_CALLS},
                       {"TENON_TEST_CALLS", rules},
                       {"ASAN_OPTIONS", (options == nullptr ? "" : std::string(options) + ":") +
                                            "verify_asan_link_order=0"}};
  return place;
}
