// tenon test: measures a graph's loss and accuracy.
#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/arrays.hpp>
#include <tenon/host/evaluator.hpp>

#include "cli/command.hpp"
#include "cli/input/graph_file.hpp"
#include "cli/input/graph_inputs.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/print/train_log.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

bool has_value(const Graph& graph, const std::string& name) {
  const auto outputs = graph.outputs();
  if (std::any_of(outputs.begin(), outputs.end(),
                  [&](const auto& output) { return output.name == name; }))
    return true;
  try {
    graph.find(name);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

EvaluatorOptions parse_options(Context& context, const Arguments& arguments, const Graph& graph) {
  EvaluatorOptions options;
  options.loss =
      arguments.has("loss") || !has_value(graph, "loss") ? arguments.get("loss") : "loss";
  for (const auto& [scores, label] : arguments.named("accuracy"))
    options.scores = scores, options.label = label;
  if (options.loss.empty() && options.scores.empty())
    throw Failure(FailureKind::usage,
                  "nothing to measure: the graph has no 'loss', and --accuracy is missing",
                  "add --loss NAME or --accuracy SCORES=LABEL");
  options.batch = arguments.integer("batch");
  options.seed = arguments.count("seed");
  options.device = context.device();
  options.precision = read_precision(arguments);
  return options;
}

void print_text(const Evaluation& found) {
  write_result("{}", counted(found.examples, "example"));
  if (found.loss) write_result("  loss {:.5g}", *found.loss);
  if (found.right) write_result("  accuracy {:.4f}  ({} correct)", *found.accuracy(), *found.right);
  write_result("\n");
}

int run_test(Context& context, const Arguments& arguments) {
  const auto graph = load_graph(context, arguments.get("GRAPH"));
  Evaluator evaluator(graph, parse_options(context, arguments, graph));
  const auto found = evaluator.evaluate(read_dataset(graph, arguments, "data", evaluator.inputs()));
  if (context.json())
    print(json_object("examples", found.examples, "loss", found.loss, "right", found.right,
                      "accuracy", found.accuracy()));
  else
    print_text(found);
  flush_results();
  return 0;
}

const bool added_test = add_command(
    {.name = "test",
     .doc = "measure a graph's loss and accuracy on examples",
     .details = "The loss is the mean over all examples: batches are weighted by their size. Only "
                "the inputs that loss and scores need are "
                "required. Arrays are passed as to tenon train; the graph runs in inference mode.",
     .positionals = {{"GRAPH", graph_doc}},
     .options = {{"data", "NAME=FILE",
                  fmt::format("examples for an input, from a {} file; FILE[BEGIN:END] selects rows",
                              array_suffixes()),
                  Named{"image=image.npy"}},
                 {"accuracy", "SCORES=LABEL",
                  "measure accuracy: the output with scores, the input with labels",
                  Named{"scores=label", false}},
                 {"loss", "NAME",
                  "output or value to measure (default: loss, if the graph has one)"},
                 precision_option(),
                 {"batch", "N", "number of examples per batch", Integer{1, INT32_MAX},
                  fmt::to_string(EvaluatorOptions().batch)},
                 {"seed", "N", "seed for random operators", Integer{}, "0"}},
     .run = run_test,
     .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
