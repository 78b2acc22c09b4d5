// tenon check: the calls that are found, and the call that is reported.
#include <doctest/doctest.h>

#include <sstream>

#include "cli/run_program.hpp"

namespace {

ProgramResult check(const std::string& plugin, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"check", plugin, "--reproduce", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_tenon(arguments);
}

}  // namespace

TEST_CASE("check: a composed operator has no kernel to check") {
  const auto result = check(TENON_TEST_EXAMPLES "/swiglu.so");
  CAPTURE(result.out);
  CHECK(result.code == 0);
  CHECK(result.out.find("PASSED   determinism") != std::string::npos);
  CHECK(result.out.find("PASSED   gradient") != std::string::npos);
}

TEST_CASE("check: elements from examples that infer() needs may have dtypes of 0.2") {
  const auto result = check(fault("new_integers"));
  CAPTURE(result.out);
  CHECK(result.code == 0);
  CHECK(result.out.find("0 failed, 0 crashed, 0 untried") != std::string::npos);
}

TEST_CASE("check: a crash during the search for calls is reported with the call that caused it") {
  const auto result = check(fault("fails_in_calls"), {"--op", "divides_by_parameter"});
  CAPTURE(result.out);
  CHECK(result.code == 1);
  int crashes = 0;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("died of signal 8") == std::string::npos) continue;
    ++crashes;
    CHECK(line.find(", while searching for calls, with (x float32 [") != std::string::npos);
    CHECK(line.ends_with("]) parts=0"));
  }
  CHECK(crashes > 0);
}
