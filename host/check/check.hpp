// What check_plugin() does to an operator: a table of checks, each a function that says how it went. A new check is a file here with its
// function, a line in the list below and a line in checks.cpp.
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

#include "check/process_state.hpp"
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
  bool ends_checks = false;          ///< the operator does what no other check could bear
  std::vector<std::string> calls{};  ///< of the watching side
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
/// Nothing could be checked, and why: of all refusals the one whose try got furthest.
Outcome untried(const Refusals& refusals);

/// A check reports each call before it makes it, so that a crash is reported with its call.
void tell_call(const OperatorInfo& info, const TestInput& sample, const std::string& more = {});
/// And so does the search for calls with what it asks the operator's constructor or infer(): with parameters, and in a child that follows
/// one that died with inputs, too, since those are many.
void tell_question(const std::string& asked);
bool tells_inputs_asked();

/// What was found in this process, by dtype and kind.
struct FoundSamples {
  std::map<std::pair<DType, TestInputKind>, std::optional<TestInputs>> found;
};

struct CheckedOperator {
  const LoadedOperator& op;
  std::vector<std::filesystem::path> plugins;  ///< what its operators may need besides, then the plugin
  bool trust_writable = false;
  std::uint64_t seed = 0;          ///< of every number that a check makes up
  std::string device{};            ///< whose kernels are held against the CPU's
  std::vector<CheckCall> calls{};  ///< only these; empty: those that are found
  std::shared_ptr<FoundSamples> samples = std::make_shared<FoundSamples>();
  std::shared_ptr<const ProcessState> before_loading{};  ///< this process before the plugin was loaded
  std::vector<std::string> changed_by_loading{};         ///< what was otherwise afterwards, as clauses
  std::function<void(Host&)> add_own{};                  ///< of an operator of the application, which no plugin has
  bool search_defaults = false;                          ///< the default folders had to be searched for what it needs
};

/// What a child of the checks may take.
struct CheckLimits {
  int time_ms = 0;                 ///< for each check
  std::uint64_t memory_bytes = 0;  ///< for data; 0: all that there is
};

struct Check {
  const char *name, *doc;
  Outcome (*run)(const CheckedOperator& subject);  ///< in a child process; what it throws is a failure
  bool of_kernels = false;                         ///< says nothing of operators that are graphs of others
  bool of_given_memory = false;                    ///< says nothing of kernels that allocate their outputs
  bool without_kernel = false;                     ///< of operators whose kernel no plugin has, too
};
const std::vector<Check>& checks();
const std::vector<Check>& device_checks();  ///< where a device other than the CPU is named

Outcome check_manifest(const CheckedOperator& subject);
Outcome check_process(const CheckedOperator& subject);
Outcome check_examples(const CheckedOperator& subject);
Outcome check_inference(const CheckedOperator& subject);
Outcome check_dtypes(const CheckedOperator& subject);
Outcome check_shapes(const CheckedOperator& subject);
Outcome check_guard(const CheckedOperator& subject);
Outcome check_coverage(const CheckedOperator& subject);
Outcome check_inputs(const CheckedOperator& subject);
Outcome check_in_place(const CheckedOperator& subject);
Outcome check_add(const CheckedOperator& subject);
Outcome check_determinism(const CheckedOperator& subject);
Outcome check_kept(const CheckedOperator& subject);
Outcome check_instances(const CheckedOperator& subject);
Outcome check_layouts(const CheckedOperator& subject);
Outcome check_variants(const CheckedOperator& subject);
Outcome check_float_modes(const CheckedOperator& subject);
Outcome check_save_load(const CheckedOperator& subject);
Outcome check_gradient(const CheckedOperator& subject);
Outcome check_second(const CheckedOperator& subject);
Outcome check_sparse(const CheckedOperator& subject);
Outcome check_bounds(const CheckedOperator& subject);
Outcome check_parameters(const CheckedOperator& subject);
Outcome check_rules(const CheckedOperator& subject);
Outcome check_capture(const CheckedOperator& subject);

/// In a process of its own, which it ends: loads the operator by `load`, and tells the outcome of one check after another until one of them
/// finds a fault.
[[noreturn]] void be_the_child(std::span<const Check> checks, const std::function<CheckedOperator()>& load, const CheckLimits& limits,
                               int pipe);

}  // namespace tenon::checks
