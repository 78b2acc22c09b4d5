// Checks whether a plugin does what it declares: the library function behind `tenon check`.
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
  crashed,  ///< the check's process died or timed out
  untried,  ///< nothing could be checked: no accepted call was found, or no plugin has the operator
};

/// The name of a check, and what it checks.
struct CheckInfo {
  std::string name, doc;
};

/// The checks that check_plugin() runs for the CPU (`device` empty or `cpu`), or that compare
/// another device's kernels with the CPU's, in execution order.
TENON_API std::vector<CheckInfo> list_checks(std::string_view device = {});

/// A call to try. Parameters, shapes and elements of required inputs that it does not specify come
/// from matching examples, or are searched for.
struct CheckCall {
  Attributes parameters{};
  std::map<std::string, Shape> shapes{};  ///< complete shapes of inputs; elements are generated
  std::map<std::string, Tensor>
      inputs{};  ///< dense, on the CPU; the check chooses the operator's shared dtype
};

struct CheckOptions {
  /// Folders and files of other plugins that the operators may need; the default folders are
  /// searched if an operator is still missing.
  std::vector<std::filesystem::path> plugins{};
  std::string op{};                   ///< only this operator; empty: all operators of the plugin
  std::vector<std::string> checks{};  ///< only these checks, by name; empty: all
  /// The device whose kernels are compared with the CPU's, including kernels for operators of other
  /// plugins: `cuda`, `cuda:1`; empty: check the CPU's.
  std::string device{};
  std::uint64_t seed = 0;  ///< seed of all inputs; the same seed gives the same inputs
  std::chrono::milliseconds time_limit =
      std::chrono::minutes(1);  ///< for each check of an operator
  bool trust_writable = false;  ///< as in HostOptions
  bool trusted_only = false;    ///< as in HostOptions
  /// Bytes that the checks' process may allocate; 0: no limit. Does not apply to other devices'
  /// kernels and under sanitizers.
  std::uint64_t memory_limit = std::uint64_t{4} << 30;
  /// Only these calls are tried, by all checks; empty: the manifest's examples, and calls that are
  /// searched for. They use the names of one operator: set `op` if the plugin has several.
  std::vector<CheckCall> calls{};
  int jobs = 1;  ///< operators checked concurrently, each in its own processes
};

struct CheckResult {
  std::string op, check;
  CheckVerdict verdict = CheckVerdict::passed;
  std::string sentence;  ///< what was found
  /// inputs and parameters of each call that the check made, up to the one that it died in
  std::vector<std::string> calls{};
};

/// Runs the checks on the operators of a plugin file, with inputs found by trial. The checks of an
/// operator run one after another in a child process, and in a new one after a crash; after a check
/// that timed out, the operator's remaining checks are skipped. The plugin is loaded only in these
/// processes, which end with this one. `report` is called with each result as soon as it is
/// available. Forks: call it before the process starts CUDA or threads, as a Host does for its
/// first operator; of two concurrent calls, the second waits. Throws Failure: (file) if there is no
/// such file, (plugin) if it cannot be used or has no operators, (usage) for an operator that it
/// does not have and for unknown checks and devices. An operator's errors are results.
TENON_API std::vector<CheckResult> check_plugin(
    const std::filesystem::path& plugin, const CheckOptions& options = {},
    const std::function<void(const CheckResult&)>& report = {});

/// Checks an application's operator like check_plugin(), from the arguments of
/// Host::add_operator(). `options.op` is ignored; other operators of the application that it calls
/// are not available.
TENON_API std::vector<CheckResult> check_operator(
    std::string_view manifest, const tenon_operator* table, OperatorFactory make = {},
    const CheckOptions& options = {}, const std::function<void(const CheckResult&)>& report = {});

}  // namespace tenon
