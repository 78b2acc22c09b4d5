// tenon run: runs a graph on arrays from files.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <string_view>
#include <tenon/host/batched_run.hpp>

#include "cli/command.hpp"
#include "cli/input/graph_file.hpp"
#include "cli/input/graph_inputs.hpp"
#include "cli/output/output_paths.hpp"
#include "cli/output/requested_outputs.hpp"
#include "cli/print/profile.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/streams.hpp"

namespace tenon::cli {
namespace {

/// Refuses output files that would overwrite each other or an input, before any work.
void check_files(const Arguments& arguments, const RequestedOutputs& requested) {
  std::vector<NamedFile> outputs{{"--trace", arguments.get("trace")},
                                 {"--profile-html", arguments.get("profile-html")}};
  add_output_files(outputs, requested);
  refuse_same_outputs(outputs);
  auto inputs = array_files(arguments, "input");
  inputs.push_back({"GRAPH", arguments.get("GRAPH")});
  refuse_lost_inputs(outputs, inputs);
}

// Adds the gradients with respect to each floating-point or complex input and variable as further
// outputs.
void add_gradients(Graph& graph, const std::string& loss) {
  auto differentiated = loss;
  const auto outputs = graph.outputs();
  std::vector<std::string> output_names;
  for (const auto& output : outputs) output_names.push_back(output.name);
  const auto own = name_in_graph(output_names, loss, graph.changed_names());
  for (const auto& output : outputs)
    if (output.name == own) differentiated = output.value;
  std::vector<Value> wrt;
  std::vector<std::string> names;
  for (const auto& values : {graph.inputs(), graph.variables()})
    for (const auto& value : values)
      if (value.dtype && has_gradient(*value.dtype))
        wrt.push_back(graph.find(value.name)), names.push_back("grad_" + value.name);
  add_gradient_outputs(graph, graph.gradient(graph.find(differentiated), wrt), names,
                       fmt::format("'{}'", loss));
}

// Each batch has its own loss, so gradients of batches are not those of all rows.
void check_gradient(const Arguments& arguments, const RequestedOutputs& requested) {
  if (!arguments.has("gradient")) return;
  if (arguments.integer("batch") != 0)
    throw Failure(FailureKind::usage,
                  "--gradient and --batch cannot be used together: each batch has its own loss",
                  "run all rows at once, or one batch per run");
  require_requested_gradient(requested);
}

// Parses `2/8`, the second of eight shards.
Shard read_shard(const Arguments& arguments) {
  const auto text = arguments.get("shard");
  if (text.empty()) return {};
  if (arguments.integer("batch") == 0)
    throw Failure(FailureKind::usage, "--shard needs --batch: shards consist of whole batches",
                  "for example --batch 256");
  const auto slash = text.find('/');
  Shard shard;
  const auto number = [&](std::string_view digits, std::int64_t& to) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  const std::string_view all = text;
  if (slash == std::string::npos || !number(all.substr(0, slash), shard.index) ||
      !number(all.substr(slash + 1), shard.count) || shard.index < 1 || shard.index > shard.count)
    throw Failure(FailureKind::usage,
                  fmt::format("--shard is '{}' but must be I/N, with I from 1 to N", text),
                  "for example --shard 2/8");
  --shard.index;
  return shard;
}

// First runs include kernel warm-up, so these further runs are measured instead.
void run_warm(Session& session, const NamedTensors& inputs, const RunOptions& request) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(300);
  session.clear_times();
  for (int i = 0; i < 10 && (i == 0 || Clock::now() < end); ++i) session.run(inputs, request);
}

int run_graph(Context& context, const Arguments& arguments) {
  auto graph = load_graph(context, arguments.get("GRAPH"), load_options(arguments));
  graph.bind();
  const auto requested = requested_outputs(arguments);
  check_gradient(arguments, requested);
  if (arguments.has("gradient")) add_gradients(graph, arguments.get("gradient"));
  check_files(arguments, requested);
  const auto shard = read_shard(arguments);
  SessionOptions options;
  options.seed = arguments.count("seed");
  options.training = arguments.has("training");
  options.device = context.device();
  options.trace = arguments.get("trace");
  options.debug = arguments.has("debug");
  options.profile = requests_profile(arguments);
  options.optimize = read_optimize(arguments);
  options.precision = read_precision(arguments);
  RunOptions request;
  for (const auto& [name, file] : requested) request.outputs.push_back(name);
  const auto batch = arguments.integer("batch");
  const auto inputs = read_inputs(
      graph, arguments, graph.needed_inputs(request.outputs, options.training), batch == 0);
  Session session(graph, options);
  if (batch == 0) {
    give_outputs(context, graph, session.run(inputs, request), requested);
  } else if (all_to_npy(context, graph, requested)) {
    BatchFiles files(requested);
    run_each_batch(
        session, inputs, batch,
        [&](const NamedTensors& made, std::int64_t rows) { files.take(made, rows); }, request,
        shard);
    files.commit();
  } else {
    give_outputs(context, graph, run_in_batches(session, inputs, batch, request, shard), requested);
  }
  if (options.profile) {
    if (batch == 0) run_warm(session, inputs, request);
    give_profile(context, arguments, session.times(), write_message);
  }
  return session.trace_complete() ? 0 : static_cast<int>(FailureKind::failed);
}

std::vector<Option> run_options() {
  auto all = input_options();
  all.push_back(output_option());
  all.push_back(
      {"batch", "N",
       "run N rows at a time and concatenate the outputs; inputs may have any number of rows",
       Integer{1, INT32_MAX}});
  all.push_back({"shard", "I/N",
                 "run only shard I (1 to N) of N shards of the batches; the shards' outputs, "
                 "concatenated, equal those of one run",
                 Text{}});
  all.push_back({"gradient", "LOSS",
                 "also compute the gradients of the sum of this output or value with respect to "
                 "each floating-point input and variable, as "
                 "outputs grad_NAME"});
  all.push_back({"training", "", "run in training mode: dropout is active, states are updated"});
  all.push_back({"debug", "",
                 "fill outputs with NaN before each CPU kernel, and report nodes that leave "
                 "elements unwritten"});
  all.push_back({"trace", "FILE", "write a timeline of the nodes in Chrome's trace format"});
  for (auto& option : profile_options()) all.push_back(std::move(option));
  for (auto& option : optimize_options()) all.push_back(std::move(option));
  all.push_back(precision_option());
  all.push_back(no_verify_option());
  return all;
}

const bool added_run =
    add_command({.name = "run",
                 .doc = "run a graph once",
                 .details = "Inputs are arrays saved by numpy, csr matrices saved by "
                            "scipy.sparse.save_npz, or svmlight/libsvm text files: FILE.svm "
                            "is the features, FILE.svm:labels the labels. Features are numbered "
                            "from 0 if any line has a feature 0, else from 1; "
                            "FILE.svm:from-0 and FILE.svm:from-1 set this explicitly. Dtypes are "
                            "widened if no value is lost, and sparse inputs stay "
                            "sparse as long as the operators have kernels for them. With --output, "
                            "only the named outputs are computed, and only the "
                            "inputs they need are read or generated: a classifier that was trained "
                            "with labels does not need them for inference. "
                            "--batch splits the inputs with an unknown first dimension into "
                            "batches of rows, and requires outputs with one row per input "
                            "row; operators that combine rows see only the rows of one batch. If "
                            "every output goes to a .npy file, batches are written "
                            "as they finish, so inputs and outputs may exceed memory; the files "
                            "appear complete or not at all. --shard splits the "
                            "batches between processes, for example those of an array job. "
                            "--profile prints to stderr how long each operator and node "
                            "took in further runs, like tenon bench.",
                 .positionals = {{"GRAPH", graph_doc}},
                 .options = run_options(),
                 .run = run_graph,
                 .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
