// tenon check: whether a plugin does what it declares.
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

constexpr std::array<const char*, 6> verdict_names = {"PASSED", "SKIPPED", "WARNING", "FAILED", "CRASHED", "UNTRIED"};
constexpr int nothing_checked = 5;  // exit code

/// Prints while it goes, but for --json, which is one object at the end.
class Results {
 public:
  Results(const Context& context, const Arguments& arguments)
      : json_(context.json()), only_failed_(arguments.has("only-failed")), verbose_(arguments.has("verbose")) {}

  void add(const CheckResult& result) {
    const auto& [op, check, verdict, sentence, calls] = result;
    ++tally_[static_cast<std::size_t>(verdict)];
    if (verdict == Verdict::untried) {
      auto& names = sentence.find(" in any plugin") != std::string::npos                ? without_kernel_
                    : sentence.find("no plugin has this operator") != std::string::npos ? missing_
                                                                                        : untried_;
      if (names.empty() || names.back() != op) names.push_back(op);
    }
    if (only_failed_ && (verdict < Verdict::failed || verdict == Verdict::untried)) return;
    const auto* word = verdict_names[static_cast<std::size_t>(verdict)];
    if (json_) {
      std::vector<JsonItem> texts(calls.begin(), calls.end());
      return items_.push_back(json_object("operator", op, "check", check, "verdict", word, "sentence", sentence, "calls", calls.size(),
                                          "tried", json_list(texts)));
    }
    if (op != last_) write_result("{}\n", op);
    last_ = op;
    write_result("  {:<8} {:<12} {}\n", word, check, sentence);
    if (verbose_)
      for (const auto& call : calls) write_result("             {}\n", call);
    flush_results();  // whoever ends this program early still learns what was checked
  }

  void finish(std::uint64_t seed) const {
    const auto tally = [&](Verdict verdict) { return tally_[static_cast<std::size_t>(verdict)]; };
    if (json_)
      return print(json_object("passed", tally(Verdict::passed), "skipped", tally(Verdict::skipped), "warnings", tally(Verdict::warning),
                               "failed", tally(Verdict::failed), "crashed", tally(Verdict::crashed), "untried", tally(Verdict::untried),
                               "seed", seed, "checks", json_list(items_)));
    write_result("{} passed, {} skipped, {}, {} failed, {} crashed, {} untried; --reproduce {} repeats this\n", tally(Verdict::passed),
                 tally(Verdict::skipped), counted(tally(Verdict::warning), "warning"), tally(Verdict::failed), tally(Verdict::crashed),
                 tally(Verdict::untried), seed);
    if (!untried_.empty())
      tell(
          "some checks found nothing to try with {}\nhint: describe() can give calls: op.example(...); or give them with --shape, --set "
          "and --input\n",
          fmt::join(untried_, ", "));
    if (!without_kernel_.empty())
      tell("no plugin that was given has a kernel of {} for the CPU\nhint: tenon --plugins DIR check ... takes it from the plugin in DIR\n",
           fmt::join(without_kernel_, ", "));
    if (!missing_.empty())
      tell("no plugin that was given has the operator {}\nhint: tenon --plugins DIR check ... takes it from the plugin in DIR\n",
           fmt::join(missing_, ", "));
  }
  int exit_code() const {
    const auto count = [&](Verdict verdict) { return tally_[static_cast<std::size_t>(verdict)]; };
    if (count(Verdict::failed) + count(Verdict::crashed) > 0) return static_cast<int>(FailureKind::failed);
    return count(Verdict::untried) > 0 ? nothing_checked : 0;
  }

 private:
  bool json_, only_failed_, verbose_;
  std::array<int, verdict_names.size()> tally_{};
  std::string last_;
  std::vector<std::string> untried_, without_kernel_, missing_;  // operators
  std::vector<JsonItem> items_;
};

/// The texts of a Named option that may give several to one name.
std::map<std::string, std::vector<std::string>> texts_by_name(const Arguments& arguments, const std::string& option) {
  std::map<std::string, std::vector<std::string>> texts;
  for (const auto& text : arguments.all(option)) {
    const auto equals = text.find('=');
    texts[text.substr(0, equals)].push_back(text.substr(equals + 1));
  }
  return texts;
}

/// Each call once for each of the texts.
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

/// The operator that the calls are of. Its manifest is read, and its plugin not loaded.
std::shared_ptr<const OperatorInfo> operator_of(const Arguments& arguments, Host& host) {
  const auto plugin = arguments.get("PLUGIN");
  host.add_plugins(plugin);
  std::vector<std::string> names;
  for (const auto& file : host.catalog().files()) {
    if (!is_at(file, plugin)) continue;
    names = file.operators;
    if (names.empty())
      for (const auto& kernel : file.kernels)
        if (std::find(names.begin(), names.end(), kernel.op) == names.end()) names.push_back(kernel.op);
  }
  auto op = arguments.get("op");
  if (op.empty() && names.size() == 1) op = names.front();
  const auto catalog = host.catalog();
  const auto* found = op.empty() ? nullptr : catalog.find(op);
  if (found == nullptr)
    throw Failure(
        FailureKind::usage,
        fmt::format("--set is for one operator, but {} has {}", plugin, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))),
        "name one with --op");
  return found->description;
}

std::vector<CheckCall> calls_to_try(const Arguments& arguments, const Context& context) {
  const auto shapes = texts_by_name(arguments, "shape"), files = texts_by_name(arguments, "input"),
             values = texts_by_name(arguments, "set");
  if (shapes.empty() && files.empty() && values.empty()) return {};
  std::vector<CheckCall> calls(1);
  for (const auto& [name, texts] : shapes)
    multiply(calls, texts, [&name = name](CheckCall& call, const std::string& text) { call.shapes[name] = parse_shape(text); });
  for (const auto& [name, texts] : files)
    multiply(calls, texts, [&name = name](CheckCall& call, const std::string& text) { call.inputs[name] = load_array(text); });
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
      for (const auto& [parameter, value] : parse_parameters(*info, {{name, text}})) call.parameters.set(parameter, value);
    });
  return calls;
}

// A plugin of kernels for devices has nothing to check on the CPU.
std::string hint_for(const std::filesystem::path& plugin, Context& context) {
  context.host().add_plugins(plugin);
  for (const auto& file : context.host().catalog().files())
    if (is_at(file, plugin) && file.operators.empty())
      for (const auto& kernel : file.kernels)
        if (kernel.device != "cpu") return fmt::format("--device {} compares its kernels with the CPU's", kernel.device);
  return {};
}

constexpr double longest_timeout = 1e6;  // seconds

int run_check(Context& context, const Arguments& arguments) {
  CheckOptions options;
  options.plugins.assign(context.global().all("plugins").begin(), context.global().all("plugins").end());
  options.op = arguments.get("op");
  options.device = context.global().get("device");  // not context.device(), which may start CUDA
  options.seed = arguments.has("reproduce") ? arguments.count("reproduce") : std::random_device{}() % 1'000'000;
  options.trust_writable = context.trust_writable();
  options.trusted_only = context.trusted_only();
  options.jobs = static_cast<int>(arguments.integer("jobs"));
  options.calls = calls_to_try(arguments, context);
  if (arguments.has("timeout"))
    options.time_limit = std::chrono::milliseconds(std::llround(std::min(arguments.real("timeout"), longest_timeout) * 1000));
  Results results(context, arguments);
  try {
    check_plugin(arguments.get("PLUGIN"), options, [&](const CheckResult& result) { results.add(result); });
  } catch (const Failure& failure) {
    if (failure.kind() != FailureKind::plugin || !failure.hint().empty() || options.device != "cpu") throw;
    throw Failure(failure.kind(), failure.what(), hint_for(arguments.get("PLUGIN"), context));
  }
  results.finish(options.seed);
  return results.exit_code();
}

std::string details() {
  std::string text = "The checks of an operator run in a child process, on inputs that the operator accepts:";
  for (const auto& check : list_checks()) text += fmt::format("\n  {:<12} {}", check.name, check.doc);
  text +=
      "\nWith --device cuda, the GPU kernels in PLUGIN are compared with the CPU's instead. Operators of other plugins are found with\n"
      "--plugins:";
  for (const auto& check : list_checks("cuda")) text += fmt::format("\n  {:<12} {}", check.name, check.doc);
  return text +
         "\nCalls come from the examples in the manifest, and from infer(): shapes of rank 0 to 6 and of several sizes, and parameters "
         "varied.\n"
         "--shape, --set and --input name the calls to try instead; given again for the same name, they make another call. What they "
         "leave\n"
         "open is as in the manifest's examples where that fits, and searched for. What a kernel refuses with a reason of its own is no\n"
         "fault. A check that found no call is UNTRIED.\n"
         "A plugin of kernels only is checked with the operators that they are for, and an operator with kernels that are elsewhere: name\n"
         "the other plugin with --plugins.\n"
         "The exit code is 1 if a check failed or crashed, else 5 if one was untried.";
}

const bool added_check = add_command(
    {.name = "check",
     .doc = "check that a plugin does what it declares",
     .details = details(),
     .positionals = {{"PLUGIN", "the shared object"}},
     .options = {{"op", "NAME", "only this operator"},
                 {"only-failed", "", "print only the checks that failed or crashed"},
                 {"shape", "NAME=DIMS", "try an input of this shape", Named{"data=2x4x6x6"}},
                 {"set", "NAME=VALUE", "try this value of a parameter", Named{"groups=2"}},
                 {"input", "NAME=FILE", fmt::format("try these elements of an input, from a {} file", array_suffixes()),
                  Named{"boxes=boxes.npy"}},
                 {"verbose", "", "list the calls that each check makes"},
                 {"timeout", "SECONDS", "end a check that takes longer; the operator's others are then skipped", Real{0.001}, "60"},
                 {"jobs", "N", "operators to check at once", Integer{1, 256}, "1"},
                 {"reproduce", "SEED", "repeat an earlier run's random numbers", Integer{0, 1'000'000'000}}},
     .run = run_check,
     .plugins = Plugins::loads});

}  // namespace
}  // namespace tenon::cli
