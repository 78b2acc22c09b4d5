// A plugin, with what its operators need besides, and one check after another.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <mutex>
#include <tenon/host/check.hpp>

#include "check/check.hpp"
#include "device/devices.hpp"
#include "graph/gradient_operators.hpp"
#include "graph/storage_operators.hpp"
#include "io/child.hpp"
#include "plugin/loading/library_place.hpp"
#include "run/host_impl.hpp"

namespace tenon {
namespace {

namespace fs = std::filesystem;

// The name alone where it is one of CUDA's: CUDA does not live through the forks that are to come.
std::string device_to_check(const std::string& device) {
  return device == "cpu" || device.empty() ? "" : device.starts_with("cuda") ? device : find_device(device).name();
}

PluginOptions plugin_options(const CheckOptions& options) {
  PluginOptions plugins;
  plugins.trust_writable = options.trust_writable;
  plugins.trusted_only = options.trusted_only;
  plugins.cuda = [] { return true; };  // that they load is part of what is checked
  return plugins;
}

// The whole set instead of a Host: a process that is going to fork must not have started threads.
struct CheckedPlugin {
  CheckedPlugin(const fs::path& plugin, const CheckOptions& options) : plugins(plugin_options(options), host_table()), path(plugin) {
    add_gradient_operators(plugins);  // the host's own, which plugins may bring kernels for
    add_storage_operators(plugins);
    std::error_code error;
    if (!fs::is_regular_file(path, error))
      throw Failure(FailureKind::file, fmt::format("'{}' is not a file that can be read", path.string()),
                    "name the shared object itself: my_operator.so");
    paths.push_back(path);
    for (const auto& folder : options.plugins) {
      fs::is_regular_file(folder, error) ? plugins.add_file(folder) : plugins.scan(folder);
      paths.push_back(folder);
    }
    plugins.add_file(path);  // last, so that its operators are the ones that are found
    const auto file = file_at_path();
    if (!file.usable()) throw Failure(FailureKind::plugin, fmt::format("{} {}", path.string(), file.reason), next_step(file));
    device = device_to_check(options.device);
    choose(file, options.op);
  }

  PluginFile file_at_path() const {
    const auto whole = fs::absolute(path).lexically_normal();
    const auto files = plugins.catalog().files();
    return *std::find_if(files.rbegin(), files.rend(), [&](const PluginFile& file) { return file.path == whole; });
  }

  // With a device, kernels for operators of other plugins are checked, too.
  void choose(const PluginFile& file, const std::string& wanted) {
    auto own = file.operators;
    for (const auto& kernel : file.kernels)
      if (!device.empty() && device.starts_with(kernel.device) && std::find(own.begin(), own.end(), kernel.op) == own.end())
        own.push_back(kernel.op);
    const auto is_missing = [&](const std::string& name) { return !plugins.has(name); };
    if (std::any_of(own.begin(), own.end(), is_missing)) plugins.scan_defaults(default_plugin_folders());
    if (wanted.empty())
      names = own;
    else if (std::find(own.begin(), own.end(), wanted) != own.end())
      names = {wanted};
    else
      throw Failure(FailureKind::usage, fmt::format("{} has no operator '{}'; it has {}", path.string(), wanted, fmt::join(own, ", ")));
    if (names.empty()) throw Failure(FailureKind::plugin, path.string() + " has no operator, only kernels for operators of other plugins");
  }

  PluginSet plugins;
  fs::path path;
  std::vector<fs::path> paths;
  std::string device;  // empty: the CPU
  std::vector<std::string> names;
};

const std::vector<checks::Check>& checks_on(std::string_view device) {
  return device.empty() || device == "cpu" ? checks::checks() : checks::device_checks();
}

std::vector<checks::Check> wanted_checks(const CheckOptions& options) {
  const auto& all = checks_on(options.device);
  if (options.checks.empty()) return all;
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const auto& check : all) names.emplace_back(check.name);
  for (const auto& name : options.checks)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Failure(FailureKind::usage, fmt::format("there is no check '{}'", name),
                    fmt::format("the checks are {}", fmt::join(names, ", ")));
  std::vector<checks::Check> wanted;
  for (const auto& check : all)
    if (std::find(options.checks.begin(), options.checks.end(), check.name) != options.checks.end()) wanted.push_back(check);
  return wanted;
}

int limit_in_ms(std::chrono::milliseconds limit) {
  if (limit.count() < 1 || limit.count() > INT_MAX)
    throw Failure(FailureKind::usage, fmt::format("the time limit of a check is {} ms but must be from 1 to {}", limit.count(), INT_MAX));
  return static_cast<int>(limit.count());
}

/// Loads them in a child first, which it may end. Throws the Failure of loading them.
void try_loading(CheckedPlugin& checked, int limit_ms) {
  const auto load_all = [&] {
    for (const auto& name : checked.names) checked.plugins.load(name);
  };
  Child child(
      [&](int report) {
        std::string said = "loaded\n";
        try {
          load_all();
        } catch (const std::exception&) {
          said = "failed\n";
        }
        if (write(report, said.data(), said.size()) < 0) _exit(1);
      },
      {"no process for the checks could be started", ""});
  const auto outcome = child.watch(limit_ms);
  if (outcome.line == "loaded") return;
  if (outcome.line) return load_all();  // which throws here what it threw there
  std::string end = "ends the process";
  if (outcome.timed_out) end = "does not end";
  if (outcome.status && WIFSIGNALED(*outcome.status)) end = fmt::format("crashes with signal {}", WTERMSIG(*outcome.status));
  throw Failure(FailureKind::plugin, fmt::format("{} {} when it is loaded beside Tenon's library", checked.path.string(), end));
}

}  // namespace

std::vector<CheckInfo> list_checks(std::string_view device) {
  std::vector<CheckInfo> infos;
  for (const auto& check : checks_on(device)) infos.push_back({check.name, check.doc});
  return infos;
}

std::vector<CheckResult> check_plugin(const fs::path& plugin, const CheckOptions& options,
                                      const std::function<void(const CheckResult&)>& report) {
  const auto wanted = wanted_checks(options);
  checks::CheckLimits limits{limit_in_ms(options.time_limit), options.memory_limit};
  static std::recursive_mutex one_at_a_time;  // recursive: `report` may check something, too
  const std::lock_guard lock(one_at_a_time);
  CheckedPlugin checked(plugin, options);
  if (!checked.device.empty()) limits.memory_bytes = 0;  // drivers map what they please
  try_loading(checked, limits.time_ms);
  std::vector<CheckResult> results;
  for (const auto& name : checked.names) {
    const auto load = [&] {
      return checks::CheckedOperator{checked.plugins.load(name), checked.paths, options.trust_writable, options.seed, checked.device};
    };
    run_in_children(wanted, load, limits, [&](const checks::Check& check, checks::Outcome outcome) {
      results.push_back({name, check.name, outcome.verdict, std::move(outcome.sentence)});
      if (report) report(results.back());
    });
  }
  return results;
}

}  // namespace tenon
