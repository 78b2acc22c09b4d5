// The list of checks, and how they run in a child process.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "check/calls/child_protocol.hpp"
#include "check/calls/crash_report.hpp"
#include "check/check.hpp"
#include "check/printed_text.hpp"
#include "device/devices.hpp"
#include "graph/composition.hpp"
#include "io/counted.hpp"
#include "plugin/device_kernel.hpp"

namespace tenon::checks {
namespace {

constexpr char nothing_checked[] = "nothing could be checked: ";

Outcome run_check(const Check& check, const CheckedOperator& checked) {
  try {
    const bool has_kernel = kernel_on(checked.op, cpu_device()) != nullptr,
               composed = is_composed(checked.op);
    if (check.kernels_only && !has_kernel && composed)
      return skipped("it is composed of other operators and has no kernel");
    if (!check.without_kernel && !has_kernel && !composed && checked.device.empty())
      return {Verdict::untried,
              std::string(nothing_checked) + no_kernel_on(checked.op, cpu_device()).what()};
    if (check.provides_outputs && checked.op.info->allocates())
      return skipped("its kernel allocates its outputs, but this check provides their memory");
    return check.run(checked);
  } catch (const std::exception& error) {
    return failed(error.what());
  } catch (...) {
    return failed("an exception was thrown that is not a std::exception");
  }
}

/// Sanitizers reserve address space, so nothing is limited under them.
void limit_memory([[maybe_unused]] std::uint64_t bytes) {
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rlimit data{};
  if (bytes == 0 || getrlimit(RLIMIT_DATA, &data) != 0) return;
  data.rlim_cur = std::min<rlim_t>(bytes, data.rlim_cur);
  setrlimit(RLIMIT_DATA, &data);
#endif
}

CheckedOperator load_watched(const std::function<CheckedOperator()>& load) {
  PrintedText printed;
  auto before = std::make_shared<const ProcessState>(ProcessState::now());
  auto checked = load();
  checked.changed_by_loading = ProcessState::now().changes_since(*before);
  if (!printed.take().out.empty()) checked.changed_by_loading.emplace_back("it printed to stdout");
  checked.before_loading = std::move(before);
  return checked;
}

}  // namespace

const std::vector<Check>& checks() {
  static const std::vector<Check> all = {
      {"manifest", "the manifest matches the implemented functions, and everything is documented",
       check_manifest, false, false, true},
      {"process",
       "descriptors, working folder, environment, signals and threads of the process are unchanged",
       check_process, true},
      {"examples",
       "every example is accepted, and each value of booleans and choices has a call that works",
       check_examples},
      {"inference", "inference from partial types does not contradict inference from full types",
       check_inference},
      {"dtypes",
       "every declared dtype runs, and floating-point ones agree approximately, also in precision "
       "bfloat16",
       check_dtypes},
      {"shapes", "empty, 0-d, odd-sized and unaligned inputs run or are rejected", check_shapes},
      {"guard", "nothing outside the tensors of the call is read or written", check_guard, true},
      {"coverage", "every element of every output and gradient is written", check_coverage, true},
      {"inputs", "a call does not modify what it only reads", check_inputs, true},
      {"in_place", "in-place and out-of-place results are equal", check_in_place, true, true},
      {"add", "write mode add adds to the previous values", check_add, true, true},
      {"determinism", "the same seed and inputs give the same bits, on 1 and 4 threads",
       check_determinism},
      {"instances", "two instances can run concurrently", check_instances, true},
      {"packed_constants", "constants that prepare() packs do not change a bit of the results",
       check_packed_constants, true},
      {"layouts", "channels-last and plain tensors give approximately the same results",
       check_layouts, true, true},
      {"variants",
       "each kernel variant agrees approximately with the operator's own kernel, and touches no "
       "other memory",
       check_variants, true},
      {"float_modes", "rounding mode, subnormal handling, traps and the x87 stack are unchanged",
       check_float_modes, true},
      {"save_load", "parameters survive save and load", check_save_load},
      {"gradient", "the gradient matches finite differences", check_gradient},
      {"second", "second derivatives match finite differences of the gradient", check_second},
      {"sparse", "sparse kernels and gradients match dense ones", check_sparse, true},
      {"rules", "the replacement of a rewrite rule gives the same results as its pattern",
       check_rules},
      {"bounds", "every bound in the manifest is enforced", check_bounds, false, false, true},
      {"parameters", "unknown and mistyped parameters are rejected", check_parameters, false, false,
       true},
  };
  return all;
}

std::string describe_repeated(std::size_t count) {
  return count == 0 ? std::string()
                    : fmt::format("; {} repeated with other inputs near a kink or jump",
                                  counted(count, "comparison was", "comparisons were"));
}

Outcome untried(const Refusals& refusals) {
  if (refusals.count() == 0)
    return {Verdict::untried, std::string(nothing_checked) + "there was no call to try"};
  return {Verdict::untried,
          fmt::format("{}{}, the closest one with: {}", nothing_checked,
                      counted(refusals.count(), "try was refused", "tries were refused"),
                      refusals.nearest())};
}

void run_child(std::span<const Check> checks, const std::function<CheckedOperator()>& load,
               const CheckLimits& limits, int pipe) {
  dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is reserved for results
  report_crashes(pipe);
  set_parent_pipe(pipe);
  limit_memory(limits.memory_bytes);
  const auto own = getpid();
  try {
    const auto checked = load_watched(load);
    for (const auto& check : checks) {
      const auto outcome = run_check(check, checked);
      if (getpid() != own) _exit(0);  // a child that a kernel forked
      report_outcome(outcome);
      if (is_fault(outcome.verdict)) break;
    }
  } catch (const std::exception& error) {
    report_outcome(failed(error.what()));
  }
  _exit(0);
}

}  // namespace tenon::checks
