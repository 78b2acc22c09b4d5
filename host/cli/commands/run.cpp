// tenon run: a graph on arrays from files.
#include <fmt/format.h>

#include <tenon/host/arrays.hpp>
#include <tenon/host/batched_run.hpp>

#include "cli/command.hpp"
#include "cli/input/graph_inputs.hpp"
#include "cli/output/output_paths.hpp"
#include "cli/print/json_text.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

/// The outputs to compute, and the file of each; no file: it is printed.
std::map<std::string, std::string> wanted_outputs(const Arguments& arguments) {
  std::map<std::string, std::string> wanted;
  for (const auto& text : arguments.all("output")) {
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals), file = equals == std::string::npos ? "" : text.substr(equals + 1);
    if (name.empty() || (equals != std::string::npos && file.empty()))
      throw Failure(FailureKind::usage, fmt::format("--output is '{}' but must be NAME or NAME=FILE", text),
                    "for example --output scores=scores.npy");
    if (!wanted.emplace(name, file).second) throw Failure(FailureKind::usage, fmt::format("--output names '{}' twice", name));
  }
  return wanted;
}

/// Files that would overwrite each other, or what is read, are refused before any work.
void check_files(const Arguments& arguments, const std::map<std::string, std::string>& wanted) {
  std::vector<NamedFile> outputs{{"--trace", arguments.get("trace")}};
  for (const auto& [name, file] : wanted) outputs.push_back({"--output " + name, file});
  refuse_same_outputs(outputs);
  auto inputs = array_files(arguments, "input");
  inputs.push_back({"GRAPH", arguments.get("GRAPH")});
  refuse_lost_inputs(outputs, inputs);
}

void write_outputs(const NamedTensors& outputs, const std::map<std::string, std::string>& wanted) {
  for (const auto& [name, file] : wanted) {
    if (file.empty()) continue;
    if (file.ends_with(".npz"))
      save_arrays(file, {{name, outputs.at(name)}});
    else
      save_npy(file, outputs.at(name));
  }
}

void print_outputs(const NamedTensors& outputs, const std::map<std::string, std::string>& wanted) {
  for (const auto& [name, tensor] : outputs)
    if (const auto found = wanted.find(name); found == wanted.end() || found->second.empty())
      write_result("{}  {}\n", name, tensor.to_string());
}

int run_graph(Context& context, const Arguments& arguments) {
  auto graph = Graph::load(context.host(), arguments.get("GRAPH"), load_options(arguments));
  graph.bind();
  const auto wanted = wanted_outputs(arguments);
  check_files(arguments, wanted);
  SessionOptions options;
  options.seed = arguments.count("seed");
  options.training = arguments.has("training");
  options.device = context.device();
  options.trace = arguments.get("trace");
  options.debug = arguments.has("debug");
  RunOptions request;
  for (const auto& [name, file] : wanted) request.outputs.push_back(name);
  const auto batch = arguments.integer("batch");
  const auto inputs = read_inputs(graph, arguments, graph.needed_inputs(request.outputs, options.training), batch == 0);
  Session session(graph, options);
  const auto outputs = batch == 0 ? session.run(inputs, request) : run_in_batches(session, inputs, batch, request);
  write_outputs(outputs, wanted);
  if (context.json())
    write_result(json_text(outputs) + '\n');
  else
    print_outputs(outputs, wanted);
  flush_results();
  return session.trace_complete() ? 0 : static_cast<int>(FailureKind::failed);
}

std::vector<Option> run_options() {
  auto all = input_options();
  all.push_back({"output", "NAME[=FILE]",
                 "compute this output, and write it to a .npy or .npz file, or print it if =FILE is missing (default: all outputs)",
                 Text{true}});
  all.push_back({"batch", "N", "run N rows at a time and join the outputs, so that inputs may have any length", Integer{1, INT32_MAX}});
  all.push_back({"training", "", "run as in training: dropout drops, states change"});
  all.push_back({"debug", "", "fill outputs with NaN before each kernel on the CPU, and name the node that leaves some of them unwritten"});
  all.push_back({"trace", "FILE", "write when each node ran, in Chrome's trace format"});
  all.push_back(no_verify_option());
  return all;
}

const bool added_run = add_command(
    {.name = "run",
     .doc = "run a graph once",
     .details = "Inputs are arrays as numpy saves them, csr matrices as scipy.sparse.save_npz does, or texts of svmlight and libsvm: "
                "FILE.svm is the features, FILE.svm:labels the labels. Features count from 0 where any line has a feature 0, else from 1; "
                "FILE.svm:from-0 and FILE.svm:from-1 say it. A dtype is widened where nothing is lost, and a sparse input stays sparse as "
                "long as the operators have kernels for it. With --output, only the outputs named are computed, and only the inputs "
                "that they need are read or made up: a classifier that was trained on labels needs none to classify. --batch takes rows of "
                "the inputs whose first dimension the graph leaves open, and needs outputs with one row for each of them; operators "
                "that look at several rows at once see those of one batch.",
     .positionals = {{"GRAPH", "a .tenon or graph.json file"}},
     .options = run_options(),
     .run = run_graph,
     .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
