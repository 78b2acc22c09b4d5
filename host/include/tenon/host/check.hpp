// Checks whether a plugin does what it declares: `tenon check` as a function.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tenon/host/api.hpp>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/catalog.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/shape.hpp>
#include <vector>

namespace tenon {

enum class CheckVerdict : std::uint8_t {
  passed,
  skipped,  ///< there is nothing to check
  warning,
  failed,
  crashed,  ///< the check's process died, or did not end in time
  untried,  ///< nothing could be checked: no call was found that the operator accepts, or no plugin has the operator
};

/// A check by name, and what it looks at.
struct CheckInfo {
  std::string name, doc;
};

/// Those that check_plugin() runs for the CPU (`device` empty or `cpu`), or that compare another device's kernels with the CPU's. In the
/// order in which they run.
TENON_API std::vector<CheckInfo> list_checks(std::string_view device = {});

/// A call to try. What it leaves open is as in examples that fit, and found: parameters, and shapes and elements of required inputs.
struct CheckCall {
  Attributes parameters{};
  std::map<std::string, Shape> shapes{};   ///< of inputs, whole; elements are made up
  std::map<std::string, Tensor> inputs{};  ///< dense, on the CPU; an operator's shared dtype is the check's choice
};

struct CheckOptions {
  /// Folders and files of other plugins that the operators may need; the default folders are searched if something is still missing.
  std::vector<std::filesystem::path> plugins{};
  std::string op{};                   ///< only this operator; empty: all of the plugin
  std::vector<std::string> checks{};  ///< only these, by name; empty: all
  /// Whose kernels are compared with the CPU's, those for operators of other plugins, too: `cuda`, `cuda:1`; empty: the CPU's are checked.
  std::string device{};
  std::uint64_t seed = 0;                                          ///< of all inputs: the same seed gives the same ones
  std::chrono::milliseconds time_limit = std::chrono::minutes(1);  ///< for each check of an operator
  bool trust_writable = false;                                     ///< as in HostOptions
  bool trusted_only = false;                                       ///< as in HostOptions
  /// What the checks' process may allocate, in bytes; 0: no limit. Not for devices' kernels, and not under sanitizers.
  std::uint64_t memory_limit = std::uint64_t{4} << 30;
  /// Only these calls are tried, by all checks; empty: the examples in the manifest, and what is found. Names of one operator: give `op`
  /// where the plugin has several.
  std::vector<CheckCall> calls{};
  int jobs = 1;  ///< operators that are checked at once, each in processes of its own
};

struct CheckResult {
  std::string op, check;
  CheckVerdict verdict = CheckVerdict::passed;
  std::string sentence;              ///< what was found
  std::vector<std::string> calls{};  ///< inputs and parameters of each call that the check made, up to one that it died in
};

/// Runs the checks on the operators of a plugin file with inputs that it finds by trying, those of an operator one after another in a child
/// process, and in a new one after a fault; after a check that did not end in time, the operator's others are skipped. The plugin is loaded
/// in such processes alone, which end with this one. `report` is called with each result as soon as there is one. Forks: call it before the
/// process starts CUDA or threads, as a Host does for its first operator; of two calls at once, the second waits. Throws Failure: (file) if
/// there is no such file, (plugin) if it cannot be used or has no operators, (usage) for an operator that it does not have and for unknown
/// checks and devices. What an operator does wrong is a result.
TENON_API std::vector<CheckResult> check_plugin(const std::filesystem::path& plugin, const CheckOptions& options = {},
                                                const std::function<void(const CheckResult&)>& report = {});

/// The same for an operator of the application, from what Host::add_operator() takes. `options.op` is not looked at; other operators of the
/// application that it calls are not known.
TENON_API std::vector<CheckResult> check_operator(std::string_view manifest, const tenon_operator* table, OperatorFactory make = {},
                                                  const CheckOptions& options = {},
                                                  const std::function<void(const CheckResult&)>& report = {});

}  // namespace tenon
