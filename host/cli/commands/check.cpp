// tenon check: whether a plugin does what it declares.
#include "cli/check/check.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <random>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"
#include "graph/gradient_operators.hpp"
#include "graph/storage_operators.hpp"
#include "plugin/loading/library_place.hpp"
#include "run/host_impl.hpp"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;

constexpr int timeout_ms = 60000;
constexpr std::array<const char*, 5> verdict_names = {"PASSED", "SKIPPED", "WARNING", "FAILED", "CRASHED"};

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "tenon-check-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Failure(FailureKind::failed, "no temporary folder can be made at " + name);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The whole set instead of a Host: a process that is going to fork must not have started threads.
struct Checked {
  Checked(Context& context, const Arguments& arguments) : plugins(options_of(context), host_table()) {
    add_gradient_operators(plugins);  // the host's own, which plugins may bring kernels for
    add_storage_operators(plugins);
    path = arguments.get("PLUGIN");
    std::error_code error;
    if (!fs::is_regular_file(path, error))
      throw Failure(FailureKind::file, fmt::format("'{}' is no file that can be read", path.string()),
                    "name the shared object itself: my_operator.so");
    paths.push_back(path);
    for (const auto& folder : context.global().all("plugins")) {
      fs::is_regular_file(folder, error) ? plugins.add_file(folder) : plugins.scan(folder);
      paths.emplace_back(folder);
    }
    plugins.add_file(path);  // last, so that its operators are the ones that are found
    const auto file = file_at_path();
    if (!file.usable()) throw Failure(FailureKind::plugin, fmt::format("{} {}", path.string(), file.reason), next_step(file));
    device = device_of(context);
    choose(file, arguments.get("op"));
  }

  PluginFile file_at_path() const {
    const auto whole = fs::absolute(path).lexically_normal();
    const auto files = plugins.catalog().files();
    return *std::find_if(files.rbegin(), files.rend(), [&](const PluginFile& file) { return file.path == whole; });
  }

  static PluginOptions options_of(Context& context) {
    PluginOptions options;
    options.trust_writable = context.trust_writable();
    options.cuda = [] { return true; };  // that they load is part of what is checked
    return options;
  }

  // The name alone: CUDA does not live through the forks that are to come.
  static std::string device_of(Context& context) {
    const auto device = context.global().get("device");
    return device == "cpu" || device.empty() ? "" : device.starts_with("cuda") ? device : context.device();
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
    if (names.empty())
      throw Failure(FailureKind::plugin, path.string() + " has no operator, only kernels for operators of other plugins",
                    device.empty() ? "--device cuda holds CUDA kernels against the CPU's" : "");
  }

  PluginSet plugins;
  fs::path path;
  std::vector<fs::path> paths;
  std::string device;  // empty: the CPU
  std::vector<std::string> names;
};

/// Prints while it goes, but for --json, which is one object at the end.
class Results {
 public:
  Results(bool json, bool only_failed) : json_(json), only_failed_(only_failed) {}

  void add(const std::string& op, const char* check, const Outcome& outcome) {
    ++tally_[static_cast<std::size_t>(outcome.verdict)];
    if (only_failed_ && outcome.verdict < Verdict::failed) return;
    const auto* verdict = verdict_names[static_cast<std::size_t>(outcome.verdict)];
    if (json_) return items_.push_back(json_object("operator", op, "check", check, "verdict", verdict, "sentence", outcome.sentence));
    if (op != last_) fmt::print("{}\n", op);
    last_ = op;
    fmt::print("  {:<8} {:<12} {}\n", verdict, check, outcome.sentence);
  }

  void finish(std::uint64_t seed) const {
    const auto tally = [&](Verdict verdict) { return tally_[static_cast<std::size_t>(verdict)]; };
    if (json_)
      print(json_object("passed", tally(Verdict::passed), "skipped", tally(Verdict::skipped), "warnings", tally(Verdict::warning), "failed",
                        tally(Verdict::failed), "crashed", tally(Verdict::crashed), "seed", seed, "checks", json_list(items_)));
    else
      fmt::print("{} passed, {} skipped, {} warnings, {} failed, {} crashed; --reproduce {} repeats this\n", tally(Verdict::passed),
                 tally(Verdict::skipped), tally(Verdict::warning), tally(Verdict::failed), tally(Verdict::crashed), seed);
  }
  bool all_fine() const {
    return tally_[static_cast<std::size_t>(Verdict::failed)] + tally_[static_cast<std::size_t>(Verdict::crashed)] == 0;
  }

 private:
  bool json_, only_failed_;
  std::array<int, verdict_names.size()> tally_{};
  std::string last_;
  std::vector<JsonItem> items_;
};

int run(Context& context, const Arguments& arguments) {
  const auto seed = arguments.has("reproduce") ? arguments.count("reproduce") : std::random_device{}() % 1'000'000;
  Checked checked(context, arguments);
  const ScratchFolder folder;
  Results results(context.json(), arguments.has("only-failed"));
  for (const auto& name : checked.names) {
    const Subject subject{checked.plugins.load(name), checked.paths, folder.path(), context.trust_writable(), seed, checked.device};
    for (const auto& check : checked.device.empty() ? checks() : device_checks())
      results.add(name, check.name, run_in_child(check, subject, timeout_ms));
  }
  results.finish(seed);
  return results.all_fine() ? 0 : static_cast<int>(FailureKind::failed);
}

std::string details() {
  std::string text = "Each check runs in a process of its own, with inputs that it finds by trying:";
  for (const auto& check : checks()) text += fmt::format("\n  {:<12} {}", check.name, check.doc);
  text +=
      "\nWith --device cuda its kernels there are held against the CPU's instead, those in PLUGIN for operators of other plugins, too "
      "(which\n"
      "--plugins names):";
  for (const auto& check : device_checks()) text += fmt::format("\n  {:<12} {}", check.name, check.doc);
  return text + "\nThe exit code is 1 if a check failed or crashed.";
}

const bool added = add_command({.name = "check",
                                .doc = "check that a plugin does what it declares",
                                .details = details(),
                                .positionals = {{"PLUGIN", "the shared object"}},
                                .options = {{"op", "NAME", "only this operator"},
                                            {"only-failed", "", "print only the checks that failed or crashed"},
                                            {"reproduce", "SEED", "repeat an earlier run's random numbers", Integer{0, 1'000'000'000}}},
                                .run = run});

}  // namespace
}  // namespace tenon::cli
