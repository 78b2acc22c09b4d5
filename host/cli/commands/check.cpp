// tenon check: checks that a plugin does what it declares.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <tenon/host/arrays.hpp>
#include <tenon/host/check.hpp>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"
#include "cli/print/parameter_text.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

using Verdict = CheckVerdict;

constexpr std::array<const char*, 6> verdict_names = {"PASSED", "SKIPPED", "WARNING",
                                                      "FAILED", "CRASHED", "UNTRIED"};
constexpr int nothing_checked = 5;  // exit code

/// Prints results as they arrive; with --json, one object at the end.
class Results {
 public:
  Results(const Context& context, const Arguments& arguments)
      : json_(context.json()),
        only_failed_(arguments.has("only-failed")),
        verbose_(arguments.has("verbose")) {}

  void add(const CheckResult& result) {
    const auto& [op, check, verdict, sentence, calls] = result;
    ++tally_[static_cast<std::size_t>(verdict)];
    if (verdict == Verdict::untried) {
      auto& names = sentence.find(" in any plugin") != std::string::npos ? without_kernel_
                    : sentence.find("no plugin has this operator") != std::string::npos ? missing_
                                                                                        : untried_;
      if (names.empty() || names.back() != op) names.push_back(op);
    }
    if (only_failed_ && (verdict < Verdict::failed || verdict == Verdict::untried)) return;
    const auto* verdict_name = verdict_names[static_cast<std::size_t>(verdict)];
    if (json_) {
      std::vector<JsonItem> texts(calls.begin(), calls.end());
      return items_.push_back(json_object("operator", op, "check", check, "verdict", verdict_name,
                                          "sentence", sentence, "calls", calls.size(), "tried",
                                          json_list(texts)));
    }
    if (op != last_) write_result("{}\n", op);
    last_ = op;
    write_result("  {:<8} {:<16} {}\n", verdict_name, check, sentence);
    if (verbose_)
      for (const auto& call : calls) write_result("             {}\n", call);
    flush_results();  // results so far survive if the program is terminated
  }

  void finish(std::uint64_t seed) const {
    const auto tally = [&](Verdict verdict) { return tally_[static_cast<std::size_t>(verdict)]; };
    if (json_)
      return print(json_object("passed", tally(Verdict::passed), "skipped", tally(Verdict::skipped),
                               "warnings", tally(Verdict::warning), "failed",
                               tally(Verdict::failed), "crashed", tally(Verdict::crashed),
                               "untried", tally(Verdict::untried), "seed", seed, "checks",
                               json_list(items_)));
    write_result(
        "{} passed, {} skipped, {}, {} failed, {} crashed, {} untried; --reproduce {} repeats "
        "this\n",
        tally(Verdict::passed), tally(Verdict::skipped),
        counted(tally(Verdict::warning), "warning"), tally(Verdict::failed),
        tally(Verdict::crashed), tally(Verdict::untried), seed);
    if (!untried_.empty())
      write_message(
          "some checks had no calls to try for {}\nhint: add calls in describe() with "
          "op.example(...), or pass them with --shape, --set "
          "and --input\n",
          listed(untried_));
    if (!without_kernel_.empty())
      write_message(
          "none of the plugins has a CPU kernel for {}\nhint: add the plugin that has it with "
          "tenon --plugins DIR check ...\n",
          listed(without_kernel_));
    if (!missing_.empty())
      write_message(
          "none of the plugins has the operator {}\nhint: add the plugin that has it with tenon "
          "--plugins DIR check ...\n",
          listed(missing_));
  }
  int exit_code() const {
    const auto count = [&](Verdict verdict) { return tally_[static_cast<std::size_t>(verdict)]; };
    if (count(Verdict::failed) + count(Verdict::crashed) > 0)
      return static_cast<int>(FailureKind::failed);
    return count(Verdict::untried) > 0 ? nothing_checked : 0;
  }

 private:
  bool json_, only_failed_, verbose_;
  std::array<int, verdict_names.size()> tally_{};
  std::string last_;
  std::vector<std::string> untried_, without_kernel_, missing_;  // operators
  std::vector<JsonItem> items_;
};

/// Returns the values of a Named option by name; a name may have several.
std::map<std::string, std::vector<std::string>> texts_by_name(const Arguments& arguments,
                                                              const std::string& option) {
  std::map<std::string, std::vector<std::string>> texts;
  for (const auto& text : arguments.all(option)) {
    const auto equals = text.find('=');
    texts[text.substr(0, equals)].push_back(text.substr(equals + 1));
  }
  return texts;
}

/// Replaces each call by one copy per text, with `apply` called on it.
template <class Apply>
void multiply(std::vector<CheckCall>& calls, const std::vector<std::string>& texts, Apply&& apply) {
  std::vector<CheckCall> more;
  for (const auto& text : texts)
    for (auto call : calls) {
      apply(call, text);
      more.push_back(std::move(call));
    }
  calls = std::move(more);
}

/// Returns the operator under test, from its manifest; its plugin is not loaded.
std::shared_ptr<const OperatorInfo> operator_of(const Arguments& arguments, Host& host) {
  const auto plugin = arguments.get("PLUGIN");
  host.add_plugins(plugin);
  std::vector<std::string> names;
  for (const auto& file : host.catalog().files()) {
    if (!is_at(file, plugin)) continue;
    names = file.operators;
    if (names.empty())
      for (const auto& kernel : file.kernels)
        if (std::find(names.begin(), names.end(), kernel.op) == names.end())
          names.push_back(kernel.op);
  }
  auto op = arguments.get("op");
  if (op.empty() && names.size() == 1) op = names.front();
  const auto catalog = host.catalog();
  const auto* found = op.empty() ? nullptr : catalog.find(op);
  if (found == nullptr)
    throw Failure(
        FailureKind::usage,
        fmt::format("--set needs a single operator, but {} has {}", plugin, listed(names)),
        "select one with --op");
  return found->description;
}

std::vector<CheckCall> calls_to_try(const Arguments& arguments, const Context& context) {
  const auto shapes = texts_by_name(arguments, "shape"), files = texts_by_name(arguments, "input"),
             values = texts_by_name(arguments, "set");
  if (shapes.empty() && files.empty() && values.empty()) return {};
  std::vector<CheckCall> calls(1);
  for (const auto& [name, texts] : shapes)
    multiply(calls, texts, [&name = name](CheckCall& call, const std::string& text) {
      call.shapes[name] = parse_shape(text);
    });
  for (const auto& [name, texts] : files)
    multiply(calls, texts, [&name = name](CheckCall& call, const std::string& text) {
      call.inputs[name] = load_array(text);
    });
  if (values.empty()) return calls;
  HostOptions options;
  options.search_defaults = false;
  options.trust_writable = context.trust_writable();
  options.trusted_only = context.trusted_only();
  Host host(options);
  for (const auto& plugins : context.global().all("plugins")) host.add_plugins(plugins);
  const auto info = operator_of(arguments, host);
  for (const auto& [name, texts] : values)
    multiply(calls, texts, [&, &name = name](CheckCall& call, const std::string& text) {
      for (const auto& [parameter, value] : parse_parameters(*info, {{name, text}}))
        call.parameters.set(parameter, value);
    });
  return calls;
}

// Suggests --device for a plugin that has only device kernels and therefore nothing to check on the
// CPU.
std::string hint_for(const std::filesystem::path& plugin, Context& context) {
  context.host().add_plugins(plugin);
  for (const auto& file : context.host().catalog().files())
    if (is_at(file, plugin) && file.operators.empty())
      for (const auto& kernel : file.kernels)
        if (kernel.device != "cpu")
          return fmt::format("check its kernels against the CPU kernels with --device {}",
                             kernel.device);
  return {};
}

constexpr double longest_timeout = 1e6;  // seconds

int run_check(Context& context, const Arguments& arguments) {
  CheckOptions options;
  options.plugins.assign(context.global().all("plugins").begin(),
                         context.global().all("plugins").end());
  options.op = arguments.get("op");
  options.device = context.global().get("device");  // not context.device(), which may start CUDA
  options.seed = arguments.has("reproduce") ? arguments.count("reproduce")
                                            : std::random_device{}() % 1'000'000;
  options.trust_writable = context.trust_writable();
  options.trusted_only = context.trusted_only();
  options.jobs = static_cast<int>(arguments.integer("jobs"));
  options.calls = calls_to_try(arguments, context);
  if (arguments.has("timeout"))
    options.time_limit = std::chrono::milliseconds(
        std::llround(std::min(arguments.real("timeout"), longest_timeout) * 1000));
  Results results(context, arguments);
  try {
    check_plugin(arguments.get("PLUGIN"), options,
                 [&](const CheckResult& result) { results.add(result); });
  } catch (const Failure& failure) {
    if (failure.kind() != FailureKind::plugin || !failure.hint().empty() || options.device != "cpu")
      throw;
    throw Failure(failure.kind(), failure.what(), hint_for(arguments.get("PLUGIN"), context));
  }
  results.finish(options.seed);
  return results.exit_code();
}

std::string details() {
  std::string text = "Each operator is checked in a child process, on inputs that it accepts:";
  for (const auto& check : list_checks())
    text += fmt::format("\n  {:<16} {}", check.name, check.doc);
  text +=
      "\nWith --device cuda, the GPU kernels in PLUGIN are compared with the CPU kernels instead. "
      "Use --plugins to add the plugins that\n"
      "have their operators:";
  for (const auto& check : list_checks("cuda"))
    text += fmt::format("\n  {:<16} {}", check.name, check.doc);
  return text +
         "\nCalls come from the manifest's examples and from infer(): shapes of rank 0 to 6 in "
         "several sizes, and varied parameters.\n"
         "--shape, --set and --input specify the calls to try instead; repeating one for the same "
         "name adds a call. Unspecified inputs\n"
         "and parameters come from the manifest's examples if these fit, else from a search. A "
         "kernel that refuses a call with an error\n"
         "message of its own does not fail the check. A check without a call to try is UNTRIED.\n"
         "A plugin that has only kernels is checked with the operators they belong to, and an "
         "operator with kernels from other plugins:\n"
         "add those plugins with --plugins.\n"
         "The exit code is 1 if a check failed or crashed, else 5 if one was untried.";
}

const bool added_check = add_command(
    {.name = "check",
     .doc = "check that a plugin does what it declares",
     .details = details(),
     .positionals = {{"PLUGIN", "plugin file (.so)"}},
     .options = {{"op", "NAME", "check only this operator"},
                 {"only-failed", "", "print only the checks that failed or crashed"},
                 {"shape", "NAME=DIMS", "shape of an input to try", Named{"data=2x4x6x6"}},
                 {"set", "NAME=VALUE", "parameter value to try", Named{"groups=2"}},
                 {"input", "NAME=FILE",
                  fmt::format("input values to try, from a {} file", array_suffixes()),
                  Named{"boxes=boxes.npy"}},
                 {"verbose", "", "list the calls of each check"},
                 {"timeout", "SECONDS",
                  "time limit for one check; if exceeded, the operator's other checks are skipped",
                  Real{0.001}, "60"},
                 {"jobs", "N", "number of operators to check in parallel", Integer{1, 256}, "1"},
                 {"reproduce", "SEED", "use the seed of an earlier run",
                  Integer{0, 1'000'000'000}}},
     .run = run_check,
     .plugins = Plugins::loads});

}  // namespace
}  // namespace tenon::cli
