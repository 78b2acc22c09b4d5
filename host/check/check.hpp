// The checks of check_plugin(): each is a function that returns an Outcome. To add one, write a
// file here with the function, declare it below, and add a line to checks.cpp.
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tenon/host/check.hpp>
#include <tenon/host/host.hpp>
#include <utility>
#include <vector>

#include "check/calls/process_state.hpp"
#include "check/test_input.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon::checks {

using Verdict = CheckVerdict;

inline bool is_fault(Verdict verdict) {
  return verdict == Verdict::failed || verdict == Verdict::crashed;
}

struct Outcome {
  Verdict verdict = Verdict::passed;
  std::string sentence;
  bool ends_checks = false;          ///< the fault makes further checks impossible
  std::vector<std::string> calls{};  ///< filled by the parent process
};

inline Outcome passed(std::string sentence) {
  return {Verdict::passed, std::move(sentence)};
}
inline Outcome skipped(std::string sentence) {
  return {Verdict::skipped, std::move(sentence)};
}
inline Outcome failed(std::string sentence) {
  return {Verdict::failed, std::move(sentence)};
}
/// As in `; 2 comparisons were repeated ...`; empty if there were none.
std::string describe_repeated(std::size_t count);
/// Nothing could be checked; the reason is the rejection of the attempt that got furthest.
Outcome untried(const Refusals& refusals);

/// A check reports each call before making it, so that a crash is reported with its call.
void report_call(const OperatorInfo& info, const TestInput& sample, const std::string& more = {});
/// Reports the arguments with which the search calls the constructor or infer(). The line has the
/// parameters and, because there are many queries, the inputs only in a child that follows one that
/// died.
void report_query(const std::string& query);
bool queries_include_inputs();

/// Samples found in this process, by dtype and kind.
struct FoundSamples {
  std::map<std::pair<DType, TestInputKind>, std::optional<TestInputs>> found;
};

struct CheckedOperator {
  const LoadedOperator& op;
  /// those that its operators may need, then the plugin itself
  std::vector<std::filesystem::path> plugins;
  bool trust_writable = false;
  std::uint64_t seed = 0;          ///< of all generated numbers
  std::string device{};            ///< the device whose kernels are compared with the CPU's
  std::vector<CheckCall> calls{};  ///< if not empty, only these calls are tried
  std::shared_ptr<FoundSamples> samples = std::make_shared<FoundSamples>();
  /// the state of this process before the plugin was loaded
  std::shared_ptr<const ProcessState> before_loading{};
  std::vector<std::string> changed_by_loading{};  ///< how loading changed the process, as clauses
  /// adds an operator of the application, which is in no plugin
  std::function<void(Host&)> add_application_operator{};
  /// whether its dependencies had to be searched in the default folders
  bool search_defaults = false;
};

/// Resource limits of the child process.
struct CheckLimits {
  int time_ms = 0;                 ///< per check
  std::uint64_t memory_bytes = 0;  ///< for data; 0: unlimited
};

struct Check {
  const char *name, *doc;
  /// runs in a child process; exceptions count as failures
  Outcome (*run)(const CheckedOperator& checked);
  bool kernels_only = false;      ///< does not apply to operators composed of others
  bool provides_outputs = false;  ///< does not apply to kernels that allocate their outputs
  bool without_kernel = false;    ///< also applies to operators whose kernel is in no plugin
};
const std::vector<Check>& checks();
const std::vector<Check>& device_checks();  ///< used if a device other than the CPU is selected

Outcome check_manifest(const CheckedOperator& checked);
Outcome check_process(const CheckedOperator& checked);
Outcome check_examples(const CheckedOperator& checked);
Outcome check_inference(const CheckedOperator& checked);
Outcome check_dtypes(const CheckedOperator& checked);
Outcome check_shapes(const CheckedOperator& checked);
Outcome check_guard(const CheckedOperator& checked);
Outcome check_coverage(const CheckedOperator& checked);
Outcome check_inputs(const CheckedOperator& checked);
Outcome check_in_place(const CheckedOperator& checked);
Outcome check_add(const CheckedOperator& checked);
Outcome check_determinism(const CheckedOperator& checked);
Outcome check_packed_constants(const CheckedOperator& checked);
Outcome check_instances(const CheckedOperator& checked);
Outcome check_layouts(const CheckedOperator& checked);
Outcome check_variants(const CheckedOperator& checked);
Outcome check_float_modes(const CheckedOperator& checked);
Outcome check_save_load(const CheckedOperator& checked);
Outcome check_gradient(const CheckedOperator& checked);
Outcome check_second(const CheckedOperator& checked);
Outcome check_sparse(const CheckedOperator& checked);
Outcome check_bounds(const CheckedOperator& checked);
Outcome check_parameters(const CheckedOperator& checked);
Outcome check_rules(const CheckedOperator& checked);
Outcome check_capture(const CheckedOperator& checked);

/// Runs in a child process, which it ends: loads the operator by `load`, and reports the outcomes
/// of the checks in order until one of them finds a fault.
[[noreturn]] void run_child(std::span<const Check> checks,
                            const std::function<CheckedOperator()>& load, const CheckLimits& limits,
                            int pipe);

}  // namespace tenon::checks
