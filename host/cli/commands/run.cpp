// tenon run: a graph on arrays from files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/input/feed.hpp"
#include "cli/print/json_text.hpp"
#include "cli/print/show_graph.hpp"
#include "file/array/npy.hpp"
#include "file/array/npz.hpp"
#include "graph/model.hpp"

namespace tenon::cli {
namespace {

// Names are checked before anything runs: nobody should wait for a result that cannot be written.
void check_outputs(const NamedTensors& outputs, const std::map<std::string, std::string>& wanted) {
  for (const auto& [name, file] : wanted) {
    if (outputs.contains(name)) continue;
    std::vector<std::string> names;
    for (const auto& [output, tensor] : outputs) names.push_back(output);
    throw Failure(FailureKind::usage, fmt::format("the graph has no output '{}'", name),
                  fmt::format("its outputs are {}", fmt::join(names, ", ")));
  }
}

void write_outputs(const NamedTensors& outputs, const std::map<std::string, std::string>& wanted) {
  for (const auto& [name, file] : wanted) {
    if (file.ends_with(".npz"))
      write_npz(file, {{name, outputs.at(name)}});
    else
      write_npy(file, outputs.at(name));
  }
}

NamedTensors named_outputs(const Graph& graph) {
  NamedTensors names;
  for (const auto& [name, value] : graph.model().outputs) names.emplace(graph.model().strings[name], Tensor());
  return names;
}

int run(Context& context, const Arguments& arguments) {
  const auto graph = Graph::load(context.host(), arguments.get("GRAPH"), load_options(arguments));
  const auto wanted = named_values(arguments, "output");
  check_outputs(named_outputs(graph), wanted);
  SessionOptions options;
  options.seed = static_cast<std::uint64_t>(arguments.get_number("seed", 0, 0, INT64_MAX));
  options.training = arguments.has("training");
  options.device = context.device();
  options.trace = arguments.get("trace");
  const auto inputs = feed(graph, arguments);
  Session session(graph, options);
  const auto outputs = session.run(inputs);
  write_outputs(outputs, wanted);
  if (context.json()) {
    fmt::print("{}\n", json_text(outputs));
  } else {
    for (const auto& [name, tensor] : outputs)
      if (!wanted.contains(name)) fmt::print("{}  {}\n", name, tensor.to_string());
  }
  return 0;
}

std::vector<Option> options() {
  auto all = feed_options();
  all.push_back({"output", "NAME=FILE", "write an output to a .npy or .npz file; printed where left out", true});
  all.push_back({"training", "", "run as in training: dropout drops, states change"});
  all.push_back({"trace", "FILE", "write when each node ran, in Chrome's trace format"});
  all.push_back(no_verify_option());
  return all;
}

const bool added = add_command(
    {.name = "run",
     .doc = "run a graph once",
     .details = "Inputs are arrays as numpy saves them, csr matrices as scipy.sparse.save_npz does, or texts of svmlight and libsvm: "
                "FILE.svm is the features, FILE.svm:labels the labels. Features count from 0 where any line has a feature 0, else from 1; "
                "FILE.svm:from-0 and FILE.svm:from-1 say it. A dtype is widened where nothing is lost, and a sparse input stays sparse as "
                "long as the operators have kernels for it.",
     .positionals = {{"GRAPH", "a .tenon or graph.json file"}},
     .options = options(),
     .run = run});

}  // namespace
}  // namespace tenon::cli
