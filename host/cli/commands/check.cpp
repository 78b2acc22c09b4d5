// tenon check: whether a plugin does what it declares.
#include <fmt/format.h>

#include <array>
#include <random>
#include <tenon/host/check.hpp>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

using Verdict = CheckVerdict;

constexpr std::array<const char*, 5> verdict_names = {"PASSED", "SKIPPED", "WARNING", "FAILED", "CRASHED"};

/// Prints while it goes, but for --json, which is one object at the end.
class Results {
 public:
  Results(bool json, bool only_failed) : json_(json), only_failed_(only_failed) {}

  void add(const CheckResult& result) {
    const auto& [op, check, verdict, sentence] = result;
    ++tally_[static_cast<std::size_t>(verdict)];
    if (only_failed_ && verdict < Verdict::failed) return;
    const auto* word = verdict_names[static_cast<std::size_t>(verdict)];
    if (json_) return items_.push_back(json_object("operator", op, "check", check, "verdict", word, "sentence", sentence));
    if (op != last_) write_result("{}\n", op);
    last_ = op;
    write_result("  {:<8} {:<12} {}\n", word, check, sentence);
    flush_results();  // whoever ends this program early still learns what was checked
  }

  void finish(std::uint64_t seed) const {
    const auto tally = [&](Verdict verdict) { return tally_[static_cast<std::size_t>(verdict)]; };
    if (json_)
      print(json_object("passed", tally(Verdict::passed), "skipped", tally(Verdict::skipped), "warnings", tally(Verdict::warning), "failed",
                        tally(Verdict::failed), "crashed", tally(Verdict::crashed), "seed", seed, "checks", json_list(items_)));
    else
      write_result("{} passed, {} skipped, {}, {} failed, {} crashed; --reproduce {} repeats this\n", tally(Verdict::passed),
                   tally(Verdict::skipped), counted(tally(Verdict::warning), "warning"), tally(Verdict::failed), tally(Verdict::crashed),
                   seed);
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

// A plugin of kernels alone has nothing to check on the CPU.
std::string hint_for(const std::filesystem::path& plugin, Context& context) {
  context.host().add_plugins(plugin);
  for (const auto& file : context.host().catalog().files())
    if (file.path == std::filesystem::absolute(plugin).lexically_normal() && file.operators.empty())
      for (const auto& kernel : file.kernels)
        if (kernel.device != "cpu") return fmt::format("--device {} compares its kernels with the CPU's", kernel.device);
  return {};
}

int run_check(Context& context, const Arguments& arguments) {
  CheckOptions options;
  options.plugins.assign(context.global().all("plugins").begin(), context.global().all("plugins").end());
  options.op = arguments.get("op");
  options.device = context.global().get("device");  // not context.device(), which may start CUDA
  options.seed = arguments.has("reproduce") ? arguments.count("reproduce") : std::random_device{}() % 1'000'000;
  options.trust_writable = context.trust_writable();
  options.trusted_only = context.trusted_only();
  Results results(context.json(), arguments.has("only-failed"));
  try {
    check_plugin(arguments.get("PLUGIN"), options, [&](const CheckResult& result) { results.add(result); });
  } catch (const Failure& failure) {
    if (failure.kind() != FailureKind::plugin || !failure.hint().empty() || options.device != "cpu") throw;
    throw Failure(failure.kind(), failure.what(), hint_for(arguments.get("PLUGIN"), context));
  }
  results.finish(options.seed);
  return results.all_fine() ? 0 : static_cast<int>(FailureKind::failed);
}

std::string details() {
  std::string text = "The checks of an operator run in a child process, on inputs that the operator accepts:";
  for (const auto& check : list_checks()) text += fmt::format("\n  {:<12} {}", check.name, check.doc);
  text +=
      "\nWith --device cuda, the GPU kernels in PLUGIN are compared with the CPU's instead. Operators of other plugins are found with\n"
      "--plugins:";
  for (const auto& check : list_checks("cuda")) text += fmt::format("\n  {:<12} {}", check.name, check.doc);
  return text + "\nThe exit code is 1 if a check failed or crashed.";
}

const bool added_check =
    add_command({.name = "check",
                 .doc = "check that a plugin does what it declares",
                 .details = details(),
                 .positionals = {{"PLUGIN", "the shared object"}},
                 .options = {{"op", "NAME", "only this operator"},
                             {"only-failed", "", "print only the checks that failed or crashed"},
                             {"reproduce", "SEED", "repeat an earlier run's random numbers", Integer{0, 1'000'000'000}}},
                 .run = run_check,
                 .plugins = Plugins::loads});

}  // namespace
}  // namespace tenon::cli
