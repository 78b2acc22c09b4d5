// tenon bench: measures a graph's run time.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/command.hpp"
#include "cli/input/graph_file.hpp"
#include "cli/input/graph_inputs.hpp"
#include "cli/output/output_paths.hpp"
#include "cli/print/json_text.hpp"
#include "cli/print/profile.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

struct Times {
  double first = 0;            // includes planning
  std::vector<double> sorted;  // the other runs, ascending
  double at(double share) const {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  }
};

Times measure(Session& session, const NamedTensors& inputs, std::int64_t runs) {
  Times times;
  for (std::int64_t i = 0; i <= runs; ++i) {
    const auto begin = Clock::now();
    session.run(inputs);
    const auto took = milliseconds(Clock::now() - begin);
    if (i > 0)
      times.sorted.push_back(took);
    else
      times.first = took, session.clear_times();
  }
  std::sort(times.sorted.begin(), times.sorted.end());
  return times;
}

void write_profile(std::string_view text) {
  write_result(text);
}

void discard(std::string_view) {}

int run_bench(Context& context, const Arguments& arguments) {
  const auto runs = arguments.integer("runs");
  auto read = array_files(arguments, "input");
  read.push_back({"GRAPH", arguments.get("GRAPH")});
  refuse_lost_inputs({{"--profile-html", arguments.get("profile-html")}}, read);
  auto graph = load_graph(context, arguments.get("GRAPH"), load_options(arguments));
  graph.initialize();  // run time does not depend on the values
  const auto inputs = read_inputs(graph, arguments);
  SessionOptions options;
  options.device = context.device();
  options.capture = !arguments.has("no-capture");
  options.profile = requests_profile(arguments);
  options.optimize = read_optimize(arguments);
  options.precision = read_precision(arguments);
  Session session(graph, options);
  const auto times = measure(session, inputs, runs);
  if (context.json())
    print(json_object("unit", "ms", "runs", runs, "threads", context.host().threads(), "first",
                      times.first, "min", times.at(0), "median", times.at(0.5), "p90",
                      times.at(0.9), "max", times.at(1), "profile",
                      arguments.has("profile")
                          ? profile_json(session.times(), measure_machine(context.host()))
                          : JsonItem()));
  else
    write_result(
        "first {:.4f} ms (including planning), then {} on {}: median {:.4f} ms, min {:.4f}, 90 % "
        "{:.4f}, max {:.4f}\n",
        times.first, counted(runs, "run"), counted(context.host().threads(), "thread"),
        times.at(0.5), times.at(0), times.at(0.9), times.at(1));
  if (options.profile)
    give_profile(context, arguments, session.times(), context.json() ? discard : write_profile);
  flush_results();
  return 0;
}

std::vector<Option> bench_options() {
  auto all = input_options();
  all.push_back(
      {"runs", "N", "number of timed runs after the first", Integer{1, 1'000'000'000}, "100"});
  all.push_back(
      {"no-capture", "", "launch kernels individually instead of as captured CUDA graphs"});
  for (auto& option : profile_options()) all.push_back(std::move(option));
  for (auto& option : optimize_options()) all.push_back(std::move(option));
  all.push_back(precision_option());
  all.push_back(no_verify_option());
  return all;
}

const bool added_bench =
    add_command({.name = "bench",
                 .doc = "measure a graph's run time",
                 .details = "The first run includes planning and is reported separately; median "
                            "and spread are of the other runs. --profile adds "
                            "tables of the time that each operator and node took in those runs, "
                            "with the bytes moved and operations computed per "
                            "second if the operator declares them, next to this machine's memory "
                            "copy and matrix product speed.",
                 .positionals = {{"GRAPH", graph_doc}},
                 .options = bench_options(),
                 .run = run_bench,
                 .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
