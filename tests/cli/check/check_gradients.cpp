// tenon check: first and second derivatives, real and complex, and intentional non-derivatives.
#include <doctest/doctest.h>

#include <map>
#include <sstream>

#include "cli/run_program.hpp"

namespace {

/// Returns the verdicts of one check by operator.
std::map<std::string, std::string> verdicts(const std::string& out, const std::string& check) {
  std::map<std::string, std::string> found;
  std::istringstream lines(out);
  std::string op;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string verdict, name;
    words >> verdict >> name;
    if (!line.starts_with(' '))
      op = line;
    else if (name == check)
      found[op] = verdict;
  }
  return found;
}

struct Case {
  std::vector<std::string> arguments;
  int code;
  const char* check;
  std::map<std::string, std::string> verdicts;
  const char* words;
};

void look(const Case& test) {
  CAPTURE(test.arguments[0]);
  std::vector<std::string> arguments{"check"};
  arguments.insert(arguments.end(), test.arguments.begin(), test.arguments.end());
  arguments.insert(arguments.end(), {"--reproduce", "1"});
  const auto result = run_tenon(arguments);
  CAPTURE(result.out);
  CAPTURE(result.err);
  CHECK(result.code == test.code);
  CHECK(verdicts(result.out, test.check) == test.verdicts);
  CHECK(result.out.find(test.words) != std::string::npos);
}

}  // namespace

TEST_CASE("check gradients: second derivatives, however they are declared") {
  const Case cases[] = {
      {{fault("wrong_second")},
       1,
       "gradient",
       {{"drops_slope", "PASSED"}, {"linear_squares", "PASSED"}, {"third_of_cube", "PASSED"}},
       "0 crashed, 0 untried"},
      {{fault("wrong_second")},
       1,
       "second",
       {{"drops_slope", "FAILED"}, {"linear_squares", "FAILED"}, {"third_of_cube", "FAILED"}},
       "of the second gradient of input 0 is 0, but finite differences of the gradient give"},
      {{TENON_TEST_EXAMPLES "/outer_product.so"},
       0,
       "second",
       {{"outer_product", "PASSED"}, {"length", "PASSED"}},
       "0 failed, 0 crashed"},
      {{TENON_TEST_PLUGINS "/tenon_linalg.so", "--op", "matmul"},
       0,
       "second",
       {{"matmul", "PASSED"}},
       "0 failed, 0 crashed"},
      {{TENON_TEST_EXAMPLES "/swiglu.so"},
       0,
       "second",
       {{"swiglu", "SKIPPED"}},
       "second           it declares no second derivative"},
  };
  for (const auto& test : cases) look(test);
  // At equal elements, the gradient of the maximum jumps; with this seed some are equal.
  CHECK(run_tenon({"check", TENON_TEST_PLUGINS "/tenon_reduce.so", "--op", "max", "--reproduce",
                   "523592"})
            .code == 0);
}

TEST_CASE("check gradients: comparisons that a jump spoils are repeated next to it") {
  look({{fault("wrong_gradients"), "--op", "jumps_often"},
        0,
        "gradient",
        {{"jumps_often", "PASSED"}},
        "repeated with other inputs near a kink or jump"});
}

TEST_CASE("check gradients: complex numbers") {
  const auto plugin = fault("wrong_complex");
  const Case cases[] = {
      {{plugin},
       1,
       "gradient",
       {{"forgets_conj", "FAILED"}, {"turns_on", "FAILED"}},
       "part of element"},
      {{plugin, "--op", "turns_on", "--shape", "z=50x50"},
       5,
       "gradient",
       {{"turns_on", "UNTRIED"}},
       "too many elements for finite differences"},
      {{TENON_TEST_PLUGINS "/tenon_elementwise.so", "--op", "conj"},
       0,
       "gradient",
       {{"conj", "PASSED"}},
       "0 failed, 0 crashed"},
      {{TENON_TEST_PLUGINS "/tenon_elementwise.so", "--op", "imag"},
       0,
       "gradient",
       {{"imag", "PASSED"}},
       "0 failed, 0 crashed"},
  };
  for (const auto& test : cases) look(test);
}

TEST_CASE("check gradients: a surrogate gradient is not compared if the operator declares it") {
  const auto plugin = fault("surrogate_gradients");
  const Case cases[] = {
      {{plugin},
       1,
       "gradient",
       {{"said_quantize", "SKIPPED"}, {"silent_quantize", "FAILED"}},
       "its gradient is intentionally not the derivative of forward"},
      {{plugin, "--op", "said_quantize"},
       0,
       "second",
       {{"said_quantize", "SKIPPED"}},
       "0 failed, 0 crashed, 0 untried"},
  };
  for (const auto& test : cases) look(test);
  const auto shown = run_tenon({"--plugins", plugin, "inspect", "said_quantize"});
  CHECK(shown.out.find("surrogate gradient: intentionally not the derivative of forward") !=
        std::string::npos);
  CHECK(run_tenon({"--plugins", plugin, "inspect", "silent_quantize"})
            .out.find("surrogate gradient") == std::string::npos);
}
