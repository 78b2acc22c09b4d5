#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <tenon/host/check.hpp>

#include "cli/run_program.hpp"
#include "failure_of.hpp"
#include "temporary_folder.hpp"

namespace {

/// The checks that failed or crashed, with their verdict: `FAILED guard`.
std::set<std::string> faults_in(const std::string& out) {
  std::set<std::string> faults;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string verdict, check;
    words >> verdict >> check;
    if (verdict == "FAILED" || verdict == "CRASHED") faults.insert(verdict + ' ' + check);
  }
  return faults;
}

}  // namespace

TEST_CASE("each broken plugin fails the check that is for it, and no other") {
  struct Case {
    const char* plugin;
    std::set<std::string> faults;
    const char* words;
  };
  const Case cases[] = {
      {"keeps_pointers", {"FAILED guard"}, "uses an earlier call or its tensors; they are gone when the call returns"},
      {"writes_past_end", {"FAILED guard"}, "right behind a tensor's last element"},
      {"writes_before_start", {"FAILED guard"}, "right before a tensor's first element"},
      {"reads_past_end", {"FAILED guard"}, "right behind a tensor's last element"},
      {"claims_backward", {"FAILED manifest"}, "it says that there is a function backward, but the table has none"},
      {"wrong_gradient", {"FAILED gradient"}, "but differences of forward give"},
      {"wrong_sparse", {"FAILED sparse"}, "with dense inputs"},
      {"wrong_for_one", {"FAILED sparse"}, "one element stored"},
      {"wrong_when_large", {"FAILED sparse"}, "all numbers large"},
      {"wrong_when_small", {"FAILED sparse"}, "all numbers small"},
      {"wrong_for_infinity", {"FAILED sparse"}, "infinities and nan"},
      {"wrong_sparse_gradient", {"FAILED sparse"}, "of gradient 0 of output 0 is 0, but"},
      {"wrong_beyond_knee", {"FAILED sparse"}, "of gradient 0 of output 0 is 0, but"},
      {"wrong_row_gradient", {"FAILED gradient"}, "sparse_grad=true"},
      {"wrong_beyond_one", {"FAILED gradient"}, "but differences of forward give"},
      {"wrong_for_negative", {"FAILED gradient"}, "but differences of forward give 0"},
      {"leaves_holes", {"FAILED coverage"}, "is never written"},
      {"changes_input", {"FAILED inputs"}, "input 0 is changed"},
      {"wrong_in_place", {"FAILED in_place"}, "in the memory of input 'x'"},
      {"wrong_when_told_in_place", {"FAILED in_place"}, "in the memory of input 'x'"},
      {"wrong_add", {"FAILED add"}, "is to be added"},
      {"depends_on_threads", {"FAILED determinism"}, "on 4 threads than on 1"},
      {"shares_state", {"FAILED instances"}, "while another instance runs"},
      {"counts_instances", {"FAILED save_load"}, "with the parameters that were loaded"},
      {"forgets_bound", {"FAILED bounds"}, "parameter 'scale' is outside its bounds"},
      {"claims_dtype", {"FAILED dtypes"}, "float64 is declared, but the kernel refuses it"},
      {"guesses_shape", {"FAILED inference"}, "where less is known"},
      {"dies_when_empty", {"CRASHED shapes"}, "died of signal 8"},
      {"scribbles", {"CRASHED shapes"}, "wrote to the pipe through which the checks report"},
      {"remembers_dtype", {"CRASHED in_place"}, "died of signal 6 (Aborted) after earlier checks, though not without them"},
      {"flushes_to_zero", {"FAILED float_modes"}, "flush-to-zero is on, denormals-are-zero is on"},
      {"rounds_upward", {"FAILED float_modes"}, "[rounds_upward] forward() leaves floating-point modes changed (rounding is upward"},
      {"guesses_rank", {"FAILED inference"}, "is inferred where less is known"},
      {"rounds_in_backward",
       {"FAILED float_modes"},
       "[rounds_in_backward] backward() leaves floating-point modes changed (rounding is upward"},
      {"rounds_for_negative", {"FAILED float_modes"}, "[rounds_for_negative] forward() leaves floating-point modes changed"},
      {"rounds_when_sparse", {"FAILED sparse"}, "[rounds_when_sparse] forward() leaves floating-point modes changed"},
      {"rounds_in_loop", {"FAILED float_modes"}, "[rounds_in_loop] forward() leaves floating-point modes changed (rounding is upward"},
      {"leaves_traps", {"FAILED float_modes"}, "[leaves_traps] forward() leaves floating-point modes changed (the mask of exceptions is"},
      {"fills_x87_stack", {"FAILED float_modes"}, "[fills_x87_stack] forward() leaves floating-point modes changed (the x87 stack is not"},
      {"plain", {"FAILED coverage", "FAILED parameters"}, "no_such_parameter"},
      {"takes_any_kind", {"FAILED coverage", "FAILED parameters"}, "but a value of another kind is accepted"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.plugin);
    const auto result = run_tenon({"check", fault(test.plugin), "--only-failed"});
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == 1);
    CHECK(faults_in(result.out) == test.faults);
    CHECK(result.out.find(test.words) != std::string::npos);
  }
}

TEST_CASE("bounds of 0 are left by whole steps where numbers are whole") {
  const auto result = run_tenon({"check", fault("keeps_bounds")});
  CAPTURE(result.out);
  CHECK(result.code == 0);
  CHECK(result.out.find("PASSED   bounds       5 numbers outside") != std::string::npos);
}

TEST_CASE("the bundled plugins keep what they promise") {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(TENON_TEST_PLUGINS)) {
    if (file.path().extension() != ".so") continue;
    const auto result = run_tenon({"check", file.path().string(), "--only-failed"});
    if (result.err.find(" has no operator, only kernels for operators of other plugins") != std::string::npos) continue;
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.code == 0);
    ++count;
  }
  CHECK(count > 0);
}

TEST_CASE("what cannot be checked is said") {
  const std::string reduce = TENON_TEST_PLUGINS "/tenon_reduce.so";
  struct Case {
    std::vector<std::string> arguments;
    int code;
    const char* words;
  };
  const Case cases[] = {
      {{"check"}, 2, "PLUGIN"},
      {{"check", reduce, "--op", "summ"}, 2, "has no operator 'summ'"},
      {{"check", reduce, "--reproduce", "x"}, 2, "reproduce"},
      {{"check", "no_such.so"}, 4, "no_such.so"},
      {{"check", TENON_TEST_SOURCE "/README.md"}, 3, "README.md"},
      {{"check", fault("split_cuda_kernel")}, 3, "--device cuda compares its kernels with the CPU's"},
      {{"check", fault("crash_at_load")}, 3, "crash"},
  };
  const TemporaryFolder cache;  // of its own: what crashes is remembered there
  for (const auto& test : cases) {
    const auto result = run_tenon(test.arguments, {{}, cache.path(), {}});
    CAPTURE(result.err);
    CHECK(result.code == test.code);
    CHECK(result.err.find(test.words) != std::string::npos);
  }
}

TEST_CASE("a seed gives the same run again, as JSON too") {
  const std::vector<std::string> arguments = {"check", fault("wrong_add"), "--reproduce", "12", "--json"};
  const auto first = run_tenon(arguments);
  CHECK(first.out == run_tenon(arguments).out);
  CHECK(first.out.find(R"("seed": 12)") != std::string::npos);
  CHECK(first.out.find(R"("check": "add", "verdict": "FAILED")") != std::string::npos);
}

TEST_CASE("check_plugin() refuses unknown operators, checks and devices before any check runs") {
  tenon::CheckOptions options;
  options.checks = {"gradient", "speed"};
  CHECK(failure_of([&] { tenon::check_plugin(fault("writes_past_end"), options); }).message == "there is no check 'speed'");
  options.checks = {"forward"};  // of devices
  CHECK(failure_of([&] { tenon::check_plugin(fault("writes_past_end"), options); }).kind == 2);
  options.checks = {};
  options.time_limit = std::chrono::milliseconds(0);
  CHECK(failure_of([&] { tenon::check_plugin(fault("writes_past_end"), options); }).message ==
        "the time limit of a check is 0 ms but must be from 1 to 2147483647");
  CHECK(failure_of([] { tenon::check_plugin("no.so"); }).kind == 4);
  CHECK(tenon::list_checks().size() == 18);
  CHECK(tenon::list_checks("cuda").front().name == "forward");
}
