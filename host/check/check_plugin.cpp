// Checks a plugin, together with the plugins that its operators need.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <mutex>
#include <set>
#include <span>
#include <tenon/host/check.hpp>
#include <thread>

#include "check/operator_checks.hpp"
#include "check/samples/input_search.hpp"
#include "device/devices.hpp"
#include "graph/operators/host_operators.hpp"
#include "graph/parameters.hpp"
#include "io/child.hpp"
#include "io/counted.hpp"
#include "plugin/library_location.hpp"
#include "plugin/operator_name.hpp"
#include "run/host_impl.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// CUDA device names are not resolved here, because CUDA does not survive the forks that follow.
std::string device_to_check(const std::string& device) {
  return device == "cpu" || device.empty() ? ""
         : device.starts_with("cuda")      ? device
                                           : find_device(device).name();
}

PluginOptions plugin_options(const CheckOptions& options) {
  PluginOptions plugins;
  plugins.trust_writable = options.trust_writable;
  plugins.trusted_only = options.trusted_only;
  plugins.cuda = [] { return true; };  // whether they load is part of the check
  return plugins;
}

// Uses a PluginSet instead of a Host, because a process that is going to fork must not have started
// threads.
struct CheckedPlugin {
  CheckedPlugin(const fs::path& plugin, const CheckOptions& options)
      : plugins(plugin_options(options), host_table()), path(plugin) {
    add_gradient_operators(plugins);  // built-in operators, for which plugins may provide kernels
    add_storage_operators(plugins);
    std::error_code error;
    if (!fs::is_regular_file(path, error))
      throw Failure(FailureKind::file, fmt::format("'{}' is not a readable file", path.string()),
                    "name the shared object itself: my_operator.so");
    for (const auto& folder : options.plugins) {
      fs::is_regular_file(folder, error) ? plugins.add_file(folder) : plugins.scan(folder);
      paths.push_back(folder);
    }
    plugins.add_file(path);  // last, so that its operators take precedence
    paths.push_back(path);
    const auto file = plugins.file(number_at_path());
    if (!file.usable())
      throw Failure(FailureKind::plugin, fmt::format("{} {}", path.string(), file.reason),
                    next_step(file));
    device = device_to_check(options.device);
    choose(file, options.op);
  }

  int number_at_path() const {
    const auto files = plugins.catalog().files();
    const auto found = std::find_if(files.rbegin(), files.rend(),
                                    [&](const PluginFile& file) { return is_at(file, path); });
    return static_cast<int>(files.rend() - found) - 1;
  }

  // Selects by full name, since other plugins may have operators of the same short name; includes
  // operators of other plugins for which the file has kernels.
  void choose(const PluginFile& file, const std::string& requested) {
    const auto number = number_at_path();
    const std::string kernels_on = device.empty() ? "cpu" : device;
    auto own = plugins.served_by(number, kernels_on);
    missing = missing_for(file, kernels_on);
    if (!missing.empty() || std::any_of(own.begin(), own.end(), [&](const auto& name) {
          return is_implemented_elsewhere(name);
        })) {
      plugins.scan_defaults(default_plugins());
      searched_defaults = true;
      own = plugins.served_by(number, kernels_on);
      missing = missing_for(file, kernels_on);
    }
    const auto is_requested = [&](const std::string& name) {
      return requested.empty() || name == requested || short_name(name) == requested;
    };
    std::erase_if(missing, [&](const std::string& name) { return !is_requested(name); });
    std::copy_if(own.begin(), own.end(), std::back_inserter(names), is_requested);
    if (names.empty() && !own.empty())
      throw Failure(FailureKind::usage, fmt::format("{} has no operator '{}'; it has {}",
                                                    path.string(), requested, listed(own)));
    if (names.empty()) throw nothing_to_check(file, !missing.empty());
  }

  /// Converts the symbol's `acme__rope` to `acme.rope`.
  static std::string operator_of(const KernelInfo& kernel) {
    const auto between = kernel.op.find("__");
    if (between == std::string::npos || between == 0 || between + 2 == kernel.op.size())
      return kernel.op;
    return kernel.op.substr(0, between) + '.' + kernel.op.substr(between + 2);
  }

  /// Operators for which the file has kernels but that no known plugin has.
  std::set<std::string> missing_for(const PluginFile& file, const std::string& kernels_on) const {
    std::set<std::string> names;
    for (const auto& kernel : file.kernels)
      if (kernels_on.starts_with(kernel.device) && !plugins.has(operator_of(kernel)) &&
          !plugins.has(kernel.op))
        names.insert(operator_of(kernel));
    return names;
  }

  /// Whether the operator is composed of others, or has no kernel in the known plugins.
  bool is_implemented_elsewhere(const std::string& name) const {
    const auto catalog = plugins.catalog();
    const auto* found = catalog.find(name);
    if (found == nullptr) return false;
    const bool has_kernel =
        std::find(found->devices.begin(), found->devices.end(), "cpu") != found->devices.end();
    return found->info.has("compose") || !has_kernel;
  }

  Failure nothing_to_check(const PluginFile& file, bool has_kernels) const {
    std::set<std::string> ops;
    for (const auto& kernel : file.kernels) ops.insert(operator_of(kernel));
    return {FailureKind::plugin,
            fmt::format("{} has no operator, only kernels for operators of other plugins: {}",
                        path.string(), listed(ops)),
            has_kernels ? "add the plugin that has the operators" : ""};
  }

  PluginSet plugins;
  fs::path path;
  std::vector<fs::path> paths;
  std::string device;  // empty for the CPU
  std::vector<std::string> names;
  // operators that no plugin has, though the plugin has kernels for them
  std::set<std::string> missing;
  bool searched_defaults = false;
};

const std::vector<checks::Check>& checks_on(std::string_view device) {
  return device.empty() || device == "cpu" ? checks::checks() : checks::device_checks();
}

// kept: the name of packed_constants until 0.4.
std::string_view current_name(std::string_view check) {
  return check == "kept" ? "packed_constants" : check;
}

std::vector<checks::Check> requested_checks(const CheckOptions& options) {
  const auto& all = checks_on(options.device);
  if (options.checks.empty()) return all;
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const auto& check : all) names.emplace_back(check.name);
  std::set<std::string_view> requested_names;
  for (const auto& name : options.checks)
    if (std::find(names.begin(), names.end(), current_name(name)) == names.end())
      throw Failure(FailureKind::usage, fmt::format("there is no check '{}'", name),
                    fmt::format("the checks are {}", fmt::join(names, ", ")));
    else
      requested_names.insert(current_name(name));
  std::vector<checks::Check> requested;
  for (const auto& check : all)
    if (requested_names.contains(check.name)) requested.push_back(check);
  return requested;
}

int limit_in_ms(std::chrono::milliseconds limit) {
  if (limit.count() < 1 || limit.count() > INT_MAX)
    throw Failure(FailureKind::usage,
                  fmt::format("the time limit of a check is {} ms but must be from 1 to {}",
                              limit.count(), INT_MAX));
  return static_cast<int>(limit.count());
}

/// Loads the plugins in a child process first, because loading may crash. Throws the Failure of
/// loading them.
void try_loading(CheckedPlugin& checked, int limit_ms) {
  const auto load_all = [&] {
    for (const auto& name : checked.names) checked.plugins.load(name);
  };
  Child child(
      [&](int report) {
        std::string message = "loaded\n";
        try {
          load_all();
        } catch (const std::exception&) {
          message = "failed\n";
        }
        if (write(report, message.data(), message.size()) < 0) _exit(1);
      },
      {"no process for the checks could be started", ""});
  const auto outcome = child.watch(limit_ms);
  if (outcome.line == "loaded") return;
  if (outcome.line) return load_all();  // throws the same Failure as in the child
  std::string end = "ends the process";
  if (outcome.timed_out) end = "does not end";
  if (outcome.status && WIFSIGNALED(*outcome.status))
    end = fmt::format("crashes with signal {}", WTERMSIG(*outcome.status));
  throw Failure(FailureKind::plugin,
                fmt::format("{} {} when it is loaded together with Tenon's library",
                            checked.path.string(), end));
}

/// Checks all operators, several at once; results are reported in the operators' order.
std::vector<CheckResult> run_all(CheckedPlugin& checked, const CheckOptions& options,
                                 std::span<const checks::Check> requested,
                                 const checks::CheckLimits& limits,
                                 const std::function<void(const CheckResult&)>& report) {
  const auto& names = checked.names;
  // results that must be reported after those of earlier operators
  std::vector<std::vector<CheckResult>> pending(names.size());
  std::vector<std::unique_ptr<checks::OperatorChecks>> running;
  std::vector<CheckResult> results;
  for (const auto& name : checked.missing) {
    results.push_back(
        {name, requested.front().name, CheckVerdict::untried,
         fmt::format(
             "nothing could be checked: no plugin has this operator, for which {} has a kernel",
             checked.path.filename().string())});
    if (report) report(results.back());
  }
  for (std::size_t first = 0; first < names.size();) {
    const auto end = std::min(names.size(), first + static_cast<std::size_t>(options.jobs));
    for (auto i = running.size(); i < end; ++i) {
      const auto load = [&, i] {
        checks::CheckedOperator checked_operator{checked.plugins.load(names[i]),
                                                 checked.paths,
                                                 options.trust_writable,
                                                 options.seed,
                                                 checked.device,
                                                 options.calls};
        checked_operator.search_defaults = checked.searched_defaults;
        return checked_operator;
      };
      running.push_back(std::make_unique<checks::OperatorChecks>(
          requested, load, limits, [&, i](const checks::Check& check, checks::Outcome outcome) {
            pending[i].push_back({std::string(short_name(names[i])), check.name, outcome.verdict,
                                  std::move(outcome.sentence), std::move(outcome.calls)});
          }));
    }
    bool progressed = false;
    for (auto i = first; i < end; ++i)
      progressed =
          (!running[i]->done() && running[i]->step(end - first > 1 ? 0 : 20)) || progressed;
    if (!progressed && end - first > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (bool done = true; done && first < end; first += done ? 1 : 0) {
      for (auto& result : pending[first]) {
        results.push_back(std::move(result));
        if (report) report(results.back());
      }
      pending[first].clear();
      done = running[first]->done();
      if (done) running[first].reset();
    }
  }
  return results;
}

/// Throws Failure (usage) for calls that the operator does not support.
void require_possible(const OperatorInfo& info, const std::vector<CheckCall>& calls) {
  for (const auto& call : calls) {
    checks::fixed_inputs(info, call);
    GraphModel model;
    NodeRecord node;
    const auto sets = checks::required_sets(info);
    add_parameters(model, node, info, checks::merged(call.parameters, sets.front()));
  }
}

/// Throws Failure (usage) for invalid options.
void validate(const CheckedPlugin& checked, const CheckOptions& options) {
  if (options.jobs < 1)
    throw Failure(FailureKind::usage,
                  fmt::format("the number of jobs is {} but must be at least 1", options.jobs));
  if (options.calls.empty()) return;
  if (checked.names.size() > 1)
    throw Failure(FailureKind::usage,
                  fmt::format("user-provided calls need a single operator, but {} has {}",
                              checked.path.string(), listed(checked.names)),
                  "name one operator to check");
  const auto catalog = checked.plugins.catalog();
  if (const auto* found = catalog.find(checked.names.front()); found != nullptr)
    require_possible(found->info, options.calls);
}

// Serializes concurrent checks. Recursive, because `report` may start a check, too.
std::recursive_mutex& check_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

std::vector<CheckInfo> list_checks(std::string_view device) {
  std::vector<CheckInfo> infos;
  for (const auto& check : checks_on(device)) infos.push_back({check.name, check.doc});
  return infos;
}

std::vector<CheckResult> check_plugin(const fs::path& plugin, const CheckOptions& options,
                                      const std::function<void(const CheckResult&)>& report) {
  const auto requested = requested_checks(options);
  checks::CheckLimits limits{limit_in_ms(options.time_limit), options.memory_limit};
  const std::lock_guard lock(check_mutex());
  CheckedPlugin checked(plugin, options);
  if (!checked.device.empty()) limits.memory_bytes = 0;  // drivers reserve large address ranges
  validate(checked, options);
  try_loading(checked, limits.time_ms);
  return run_all(checked, options, requested, limits, report);
}

std::vector<CheckResult> check_operator(std::string_view manifest, const tenon_operator* table,
                                        OperatorFactory make, const CheckOptions& options,
                                        const std::function<void(const CheckResult&)>& report) {
  if (!options.device.empty() && options.device != "cpu")
    throw Failure(
        FailureKind::usage,
        "application operators have only CPU kernels, but the device is " + options.device);
  const auto requested = requested_checks(options);
  const checks::CheckLimits limits{limit_in_ms(options.time_limit), options.memory_limit};
  const std::lock_guard lock(check_mutex());
  PluginSet plugins(plugin_options(options), host_table());
  add_gradient_operators(plugins);
  add_storage_operators(plugins);
  for (const auto& path : options.plugins)
    fs::is_regular_file(path) ? plugins.add_file(path) : plugins.scan(path);
  plugins.scan_defaults(default_plugins());
  const auto name = plugins.add(std::as_bytes(std::span(manifest)), table, make);
  const auto load = [&] {
    checks::CheckedOperator checked_operator{
        plugins.load(name), options.plugins, options.trust_writable, options.seed, "",
        options.calls};
    checked_operator.add_application_operator = [&](Host& host) {
      host.add_operator(manifest, table, make);
    };
    return checked_operator;
  };
  require_possible(*load().op.info, options.calls);
  std::vector<CheckResult> results;
  checks::OperatorChecks running(
      requested, load, limits, [&](const checks::Check& check, checks::Outcome outcome) {
        results.push_back({std::string(short_name(name)), check.name, outcome.verdict,
                           std::move(outcome.sentence), std::move(outcome.calls)});
        if (report) report(results.back());
      });
  while (!running.done()) running.step(20);
  return results;
}

}  // namespace tenon
