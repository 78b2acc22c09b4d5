// tenon plot: draws the metrics that tenon train --metrics wrote.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/output/output_paths.hpp"
#include "cli/print/train_log.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

int run_plot(Context&, const Arguments& arguments) {
  const auto to = arguments.get("output");
  if (to.empty())
    throw Failure(FailureKind::usage, "--output is required",
                  "tenon plot metrics.jsonl -o plot.svg");
  check_plot_path("--output", to);
  const auto from = arguments.get("METRICS");
  refuse_lost_inputs({{"--output", to}}, {{"METRICS", from}});
  const auto curves = read_curves(from);
  if (curves.epochs().empty())
    throw Failure(FailureKind::file, fmt::format("{} contains no metrics", from),
                  "tenon train --metrics FILE writes them");
  write_plot(to, curves);
  write_message("wrote {}\n", to);
  return 0;
}

const bool added_plot =
    add_command({.name = "plot",
                 .doc = "plot the loss and accuracy of a training run",
                 .details = "tenon train --plot draws the same plot during training.",
                 .positionals = {{"METRICS", "JSON lines file written by tenon train --metrics"}},
                 .options = {{"output", "FILE", "the .svg file to write", Text{}, "", 'o'}},
                 .run = run_plot});

}  // namespace
}  // namespace tenon::cli
