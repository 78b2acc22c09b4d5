// Runs the program with system calls that fail, or that end it.
#pragma once
#include <cstdlib>
#include <string>

#include "cli/run_program.hpp"

/// Rules as tests/preload/failing_calls.c explains them: `fsync,m.tenon,1,1,error 5`.
inline ProgramPlace with_calls(const std::string& rules) {
  const char* options = std::getenv("ASAN_OPTIONS");  // which wants to be the first library
  ProgramPlace place;
  place.environment = {{"LD_PRELOAD", TENON_TEST_FAILING_CALLS},
                       {"TENON_TEST_CALLS", rules},
                       {"ASAN_OPTIONS", (options == nullptr ? "" : std::string(options) + ":") + "verify_asan_link_order=0"}};
  return place;
}
