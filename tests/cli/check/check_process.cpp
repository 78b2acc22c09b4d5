// tenon check: effects of operators on their process, and their complete removal.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <tenon/host/check.hpp>

#include "cli/workplace.hpp"
#include "failure_of.hpp"

namespace {

std::vector<tenon::CheckResult> check_fault(const std::string& plugin, const std::string& op,
                                            const tenon::CheckOptions& more) {
  auto options = more;
  options.op = op;
  options.trust_writable = true;
  return tenon::check_plugin(fault(plugin), options);
}

tenon::CheckOptions only(const std::string& name) {
  tenon::CheckOptions options;
  options.checks = {name};
  return options;
}

}  // namespace

TEST_CASE("check process: reports what an operator changes in its process") {
  struct Case {
    const char *plugin, *op, *words;
    tenon::CheckVerdict verdict = tenon::CheckVerdict::failed;
  };
  const Case cases[] = {
      {"changes_process", "leaks_descriptor", "each call leaves descriptors open: /dev/zero"},
      {"changes_process", "changes_folder", "after forward(), the working folder is /proc, not /"},
      {"changes_process", "changes_umask", "after forward(), umask is 000, not 0"},
      {"changes_process", "changes_locale", "after forward(), the locale is C.UTF-8, not C"},
      {"changes_process", "changes_environment",
       "after forward(), environment variable TENON_FAULT is set"},
      {"changes_process", "handles_signal", "after forward(), the handler of SIGUSR1 is changed"},
      {"changes_process", "blocks_signal", "after forward(), the signal mask is USR2, not "},
      {"changes_process", "moves_signal_stack",
       "after forward(), the alternate signal stack is 65536 bytes at "},
      {"changes_process", "closes_input", "after forward(), descriptor 0 is closed"},
      {"changes_process", "redirects_output", "after forward(), descriptor 1 is /dev/null, not "},
      {"changes_process", "closes_all", "closed the pipe on which the checks report",
       tenon::CheckVerdict::crashed},
      {"changes_process", "starts_thread",
       " running; use the host's threads instead: Call::parallel_for"},
      {"changes_process", "sets_alarm", "after forward(), the running timer is alarm"},
      {"changes_process", "lowers_limit",
       "after forward(), the limit of open files is 200 (hard: "},
      {"changes_process", "forks", "after forward(), a child process is left behind"},
      {"changes_process", "changes_when_made",
       "after its shapes were inferred, umask is 000, not 0"},
      {"changes_process", "changes_at_its_end", "after destroy(), umask is 000, not 0"},
      {"changes_process", "changes_in_backward", "after backward(), umask is 000, not 0"},
      {"changes_at_load", "changes_at_load",
       "after it is loaded, the running timer is alarm, umask is 000, not 0"},
      {"prints", "prints", "after it is loaded, it printed to stdout"},
      {"changes_process", "prints_when_called", "after forward(), it prints 'twice' to stdout"},
  };
  for (const auto& test : cases) {
    CAPTURE(test.op);
    const auto results = check_fault(test.plugin, test.op, only("process"));
    REQUIRE(results.size() == 1);
    CAPTURE(results[0].sentence);
    CHECK(results[0].verdict == test.verdict);
    CHECK(has(results[0].sentence, test.words));
    // in a process that ends by itself, once
    const auto others = check_fault(test.plugin, test.op, only("coverage"));
    CHECK(others.size() == 1);
  }
}

TEST_CASE("check guard: finds kernels that use tensors of an earlier call, or the call itself") {
  for (const std::string op : {"keeps_call", "keeps_object", "keeps_tensor", "keeps_shape",
                               "keeps_call_of_backward", "keeps_input_for_backward"}) {
    CAPTURE(op);
    const auto results = check_fault("keeps_calls", op, only("guard"));
    REQUIRE(results.size() == 1);
    CAPTURE(results[0].sentence);
#if defined(__SANITIZE_ADDRESS__)
    // the object was on the stack, where a sanitizer's frames leave data other than pointers to the
    // earlier call
    if (op == "keeps_object" && results[0].verdict == tenon::CheckVerdict::crashed) continue;
#endif
    CHECK(results[0].verdict == tenon::CheckVerdict::failed);
    CHECK(has(results[0].sentence,
              " of an earlier call; a call and its tensors are invalid after it returns"));
  }
}

TEST_CASE("check: changes that an operator makes while being loaded do not affect the caller") {
  check_fault("changes_at_load", "changes_at_load", only("manifest"));
  const auto mask = umask(0);
  umask(mask);
  CHECK(mask != 0);
  CHECK(alarm(0) == 0);
}

TEST_CASE("check: after a check that did not end, the operator's other checks are skipped") {
  tenon::CheckOptions options;
  options.checks = {"manifest", "process", "guard", "coverage"};
  options.time_limit = std::chrono::milliseconds(1500);
  const auto results = check_fault("fails_in_calls", "never_ends", options);
  REQUIRE(results.size() == 4);
  CHECK(results[0].verdict == tenon::CheckVerdict::passed);
  CHECK(results[1].verdict == tenon::CheckVerdict::crashed);
  CHECK(results[1].sentence == "did not end within 1.5 s, with (x float32 [4, 6])");
  CHECK(results[1].calls == std::vector<std::string>{"(x float32 [4, 6])"});
  for (const auto i : {2, 3}) {
    CHECK(results[static_cast<std::size_t>(i)].verdict == tenon::CheckVerdict::skipped);
    CHECK(results[static_cast<std::size_t>(i)].sentence ==
          "the check 'process' did not end within 1.5 s");
  }
}

TEST_CASE("check: an operator that never ends does not outlive the program, however that ends") {
  int written = 0;
  for (const int signal : {SIGKILL, SIGTERM, SIGHUP, SIGINT}) {
    CAPTURE(signal);
    const auto begin = std::chrono::steady_clock::now();
    const auto result =
        run_tenon({"check", fault("fails_in_calls"), "--op", "never_ends", "--trust-writable"},
                  {.environment = {{"TENON_FAULT_SIGNAL", std::to_string(signal)}}});
    CHECK(result.code == 128 + signal);
    written += has(result.out, "PASSED   manifest") ? 1 : 0;
    CHECK_FALSE(has(result.err, "outlived"));
    // run_tenon() reads until all holders of stderr close it; a survivor would release it after 30
    // s
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(25));
  }
  // earlier findings are printed, unless the signal was faster than the program
  CHECK(written > 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("check: an operator cannot exceed the memory limit") {
  auto options = only("coverage");
  options.memory_limit = std::uint64_t{400} << 20;
  const auto results = check_fault("changes_process", "takes_memory", options);
  REQUIRE(results.size() == 1);
  CHECK(results[0].verdict == tenon::CheckVerdict::failed);
  CHECK(has(results[0].sentence, "out of memory"));
}
#endif

TEST_CASE("check: reports a plugin that crashes next to the library but not in the test process") {
  const auto failure = failure_of([] { check_fault("crashes_in_host", "crashes_in_host", {}); });
  CHECK(failure.kind == 3);
  CHECK(failure.message ==
        fault("crashes_in_host") +
            " crashes with signal 11 when it is loaded together with Tenon's library");
}
