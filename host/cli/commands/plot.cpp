// tenon plot: what a training wrote with --metrics, as a picture.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/output/output_paths.hpp"
#include "cli/print/train_log.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

int run_plot(Context&, const Arguments& arguments) {
  const auto to = arguments.get("output");
  if (to.empty()) throw Failure(FailureKind::usage, "there is no --output to write to", "tenon plot metrics.jsonl -o plot.svg");
  check_plot_path("--output", to);
  const auto from = arguments.get("METRICS");
  refuse_lost_inputs({{"--output", to}}, {{"METRICS", from}});
  const auto curves = read_curves(from);
  if (curves.epochs().empty())
    throw Failure(FailureKind::file, fmt::format("{} holds no metrics", from), "tenon train --metrics FILE writes them");
  write_plot(to, curves);
  tell("wrote {}\n", to);
  return 0;
}

const bool added_plot = add_command({.name = "plot",
                                     .doc = "draw loss and accuracy of a training",
                                     .details = "tenon train --plot draws the same while it trains.",
                                     .positionals = {{"METRICS", "the JSON lines that tenon train --metrics wrote"}},
                                     .options = {{"output", "FILE", "the .svg file to write", Text{}, "", 'o'}},
                                     .run = run_plot});

}  // namespace
}  // namespace tenon::cli
