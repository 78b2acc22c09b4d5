// tenon build: converts a graph.json to a .tenon file that includes the weights.
#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

int run_build(Context& context, const Arguments& arguments) {
  const auto to = arguments.get("output");
  if (to.empty())
    throw Failure(FailureKind::usage, "--output is required",
                  "tenon build graph.json -o graph.tenon");
  if (!to.ends_with(".tenon"))
    throw Failure(FailureKind::usage, fmt::format("--output is '{}' but must end in .tenon", to));
  auto graph = Graph::load(context.host(), arguments.get("GRAPH"), load_options(arguments));
  graph.save(to, arguments.count("seed"));
  write_message("wrote {}: {}, {}\n", to, counted(graph.nodes().size(), "node"),
                counted(graph.operators().size(), "operator"));
  return 0;
}

const bool added_build = add_command(
    {.name = "build",
     .doc = "build a .tenon file from a graph.json",
     .details = "Variables are initialized here, from the seed.",
     .positionals = {{"GRAPH", "a graph.json file (or a .tenon file, which is rewritten)"}},
     .options = {{"output", "FILE", "the .tenon file to write", Text{}, "", 'o'},
                 {"seed", "N", "seed for the variables' initial values", Integer{}, "0"},
                 no_verify_option()},
     .run = run_build,
     .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
