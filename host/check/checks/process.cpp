// Checks that plugin code leaves the process as it was.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "check/calls/device_comparison.hpp"
#include "check/calls/process_state.hpp"
#include "check/calls/test_call.hpp"
#include "check/printed_text.hpp"
#include "io/counted.hpp"
#include "io/utf8.hpp"
#include "plugin/discovery/elf_file.hpp"

namespace tenon::checks {
namespace {

constexpr std::size_t watched_samples = 4;

/// As in `it prints 'text' to stdout`, with the first line; empty if there is none.
std::string about_printed(const std::string& text, const char* where) {
  if (text.empty()) return {};
  return fmt::format("it prints '{}' to {}",
                     printable(text.substr(0, std::min<std::size_t>(text.find('\n'), 60))), where);
}

/// Compares the process with its initial state after each step.
class Watch {
 public:
  /// Call after `step`, as in "forward()". Ignored after the first fault.
  void check(const char* step) {
    if (getpid() != own_) _exit(0);  // a child process forked by the step
    if (!fault_.empty()) return;
    const auto printed = printed_.take();
    auto changes = ProcessState::now().changes_since(before_);
    if (auto text = about_printed(printed.out, "stdout"); !text.empty())
      changes.push_back(std::move(text));
    if (warning_.empty()) warning_ = about_printed(printed.err, "stderr");
    if (!changes.empty()) fault_ = fmt::format("after {}, {}", step, fmt::join(changes, ", "));
  }
  const std::string& fault() const { return fault_; }
  const std::string& warning() const { return warning_; }
  const ProcessState& before() const { return before_; }

 private:
  const pid_t own_ = getpid();
  PrintedText printed_;
  ProcessState before_ = ProcessState::now();
  std::string fault_, warning_;
};

/// Exercises an object of the operator through its lifetime. Returns whether its kernel accepts the
/// call.
bool run_lifecycle(const CheckedOperator& checked, const TestInput& sample, Watch& watch,
                   Refusals& refusals) {
  bool accepted = false;
  Threads threads(1);
  const CallContext context{.threads = threads, .seed = checked.seed, .training = true};
  try {
    const DeviceComparison calls(checked.op, sample, cpu_device(), checked.seed);
    watch.check("create()");
    run_call(calls.cpu_call(), sample.types, calls.forward_memory(Numbers::positive), false,
             context);
    watch.check("forward()");
    accepted = true;
    if (has_backward(checked.op, sample)) {
      const std::vector<bool> all(sample.types.inputs.size(), true);
      run_call(calls.cpu_call(), sample.types, calls.backward_memory(Numbers::positive, all, true),
               true, context);
      watch.check("backward()");
    }
  } catch (const Failure& failure) {
    refusals.add(Refusals::kernel, failure.what());
    watch.check("a call that it refuses");
  }
  watch.check("destroy()");
  return accepted;
}

/// Gives ending threads a moment to exit.
ProcessState settled(const ProcessState& before) {
  auto state = ProcessState::now();
  for (int i = 0; i < 50 && state.new_threads_since(before) > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    state = ProcessState::now();
  }
  return state;
}

/// Whether the plugin's own code starts threads, rather than a library it uses.
bool starts_threads(const std::filesystem::path& plugin) {
  const InputFile file(plugin);
  const ElfFile elf(file);
  return elf.imports("pthread_create") || elf.imports("thrd_create") ||
         elf.imports("_ZNSt6thread15_M_start_thread");
}

Outcome judge_leftovers(const CheckedOperator& checked, const ProcessState& first,
                        const ProcessState& second, Outcome outcome) {
  if (const auto left = second.new_descriptors_since(first); !left.empty())
    return failed(fmt::format("each call leaves descriptors open: {}", fmt::join(left, ", ")));
  const char* advice = "use the host's threads instead: Call::parallel_for";
  if (const auto more = second.new_threads_since(first); more > 0)
    return failed(fmt::format("calls leave {} running; {}", counted(more, "thread"), advice));
  const auto all = second.new_threads_since(*checked.before_loading);
  if (all == 0) return outcome;
  if (!checked.add_application_operator && starts_threads(checked.plugins.back()))
    return failed(fmt::format("its code leaves {} running; {}", counted(all, "thread"), advice));
  if (outcome.verdict == Verdict::passed)
    outcome.sentence +=
        fmt::format("; libraries that it uses keep {} running", counted(all, "thread"));
  return outcome;
}

}  // namespace

Outcome check_process(const CheckedOperator& checked) {
  if (!checked.changed_by_loading.empty())
    return failed(
        fmt::format("after it is loaded, {}", fmt::join(checked.changed_by_loading, ", ")));
  Watch watch;
  const auto& samples = find_samples(checked, TestInputKind::ordinary);
  watch.check("its shapes were inferred");
  const auto count = std::min(samples.found.size(), watched_samples);
  auto refusals = samples.refusals;
  std::size_t accepted = 0;
  std::optional<ProcessState> first, second;
  for (auto* round : {&first, &second}) {
    for (std::size_t i = 0; i < count && watch.fault().empty(); ++i) {
      if (round == &first) report_call(*checked.op.info, samples.found[i]);
      if (run_lifecycle(checked, samples.found[i], watch, refusals)) {
        ++accepted;
      } else if (const auto other = accepted_by_kernel(checked, samples.found[i], refusals)) {
        accepted += run_lifecycle(checked, *other, watch, refusals) ? 1 : 0;
      }
    }
    *round = settled(first ? *first : watch.before());
  }
  if (!watch.fault().empty())
    return {Verdict::failed, watch.fault(),
            watch.fault().find("a child process") != std::string::npos};
  if (accepted == 0) return untried(refusals);
  auto outcome = watch.warning().empty() ? passed(counted(accepted, "call"))
                                         : Outcome{Verdict::warning, watch.warning()};
  return judge_leftovers(checked, *first, *second, std::move(outcome));
}

}  // namespace tenon::checks
