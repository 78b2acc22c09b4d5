// tenon show: prints a graph as text, JSON, DOT or SVG, or its plan.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tenon/host/draw.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/trainer.hpp>

#include "cli/command.hpp"
#include "cli/input/graph_file.hpp"
#include "cli/input/graph_inputs.hpp"
#include "cli/output/output_paths.hpp"
#include "cli/print/json_text.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/print/show_onnx.hpp"
#include "cli/streams.hpp"
#include "io/atomic_file.hpp"
#include "io/child.hpp"
#include "io/counted.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"

namespace tenon::cli {
namespace {

std::string run_graphviz(const std::string& dot) {
  const Child::StartError no_program{
      "cannot draw the graph: cannot start graphviz's dot",
      "install graphviz, or print the graph with --dot and draw it elsewhere"};
  // The input is a file because two pipes could deadlock: both fill up while each side waits for
  // the other.
  OpenFile input(memfd_create("graph.dot", MFD_CLOEXEC));
  const auto written = write(input.descriptor(), dot.data(), dot.size());
  if (written != static_cast<ssize_t>(dot.size()) || lseek(input.descriptor(), 0, SEEK_SET) != 0)
    throw Failure(FailureKind::failed, "cannot draw the graph: " + system_reason(errno),
                  no_program.hint);
  const auto [svg, status] =
      Child({"dot", "-Tsvg"}, {input.descriptor(), Child::report, STDERR_FILENO}, no_program)
          .read_all();
  if (status != 0 || svg.empty())
    throw Failure(FailureKind::failed, "cannot draw the graph: graphviz's dot failed",
                  no_program.hint);
  return svg;
}

/// Describes the gradient exchange between processes in a training step.
std::string buckets_text(const std::vector<PlannedBucket>& buckets, std::size_t steps,
                         std::int64_t ranks) {
  std::int64_t bytes = 0;
  for (const auto& bucket : buckets) bytes += bucket.bytes;
  const auto sent = static_cast<std::uint64_t>(2 * (ranks - 1) * bytes / ranks);
  auto text = fmt::format(
      "\n{} processes reduce {} of gradients in {}; each sends and receives about {} per step\n",
      ranks, readable_bytes(static_cast<std::uint64_t>(bytes)), counted(buckets.size(), "bucket"),
      readable_bytes(sent));
  for (const auto& bucket : buckets)
    text +=
        fmt::format("  {:>10} {:<8} after step {} of {}: {}\n",
                    readable_bytes(static_cast<std::uint64_t>(bucket.bytes)), name_of(bucket.dtype),
                    bucket.steps, steps, fmt::join(bucket.variables, ", "));
  return text;
}

// Unspecified dimensions are 1, as in tenon run. With a loss, shows the plan of a training batch.
void show_plan(const Context& context, Graph graph, const Arguments& arguments) {
  const auto inputs = read_inputs(graph, arguments);
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : inputs) shapes.emplace(name, tensor.shape());
  SessionOptions options;
  options.device = context.device();
  options.capture = !arguments.has("no-capture");
  options.optimize = read_optimize(arguments);
  options.precision = read_precision(arguments);
  options.training = arguments.has("loss");
  // handles, as in the trainer, so that the plan packs no constants from variables that training
  // changes
  std::vector<Tensor> trained;
  if (options.training) {
    TrainerOptions training;
    training.loss = arguments.get("loss");
    graph = training_graph(graph, inputs, training);
    graph.initialize();
    for (const auto& variable : graph.variables()) trained.push_back(graph.tensor(variable.name));
  }
  const auto plan = Session(graph, options).plan(shapes);
  if (context.json())
    write_result(json_text(plan, arguments.has("passes")) + '\n');
  else if (arguments.has("svg"))
    AtomicFile::write_text(arguments.get("svg"), draw_memory(plan));
  else if (arguments.has("memory"))
    write_result(printable_lines(describe_memory(plan)));
  else
    write_result(printable_lines(
        (arguments.has("passes") ? describe_passes(plan) + '\n' : std::string()) + describe(plan)));
  if (arguments.has("ranks"))
    write_result(printable_lines(
        buckets_text(planned_buckets(graph, plan, static_cast<int>(arguments.integer("ranks"))),
                     plan.steps.size(), arguments.integer("ranks"))));
}

void check_one_form(const Context& context, const Arguments& arguments) {
  std::vector<std::string> forms;
  for (const auto* form : {"dot", "plan", "memory", "svg"})
    if (arguments.has(form)) forms.push_back(std::string("--") + form);
  if (context.json()) forms.emplace_back("--json");
  const auto together = [](const std::string& one, const std::string& other) {
    return (other == "--json" && (one == "--plan" || one == "--memory")) ||
           (one == "--memory" && other == "--svg");
  };
  for (std::size_t i = 0; i < forms.size(); ++i)
    for (std::size_t j = i + 1; j < forms.size(); ++j)
      if (!together(forms[i], forms[j]))
        throw Failure(
            FailureKind::usage,
            fmt::format("{} and {} cannot be used together", forms[i], forms[j]),
            "choose one; --plan and --memory can be combined with --json, and --memory with --svg");
  const bool plans = arguments.has("plan") || arguments.has("memory");
  for (const std::string option : {"shape", "loss"})
    if (arguments.has(option) && !plans)
      throw Failure(FailureKind::usage, fmt::format("--{} needs --plan or --memory", option));
  if (arguments.has("passes") && !arguments.has("plan"))
    throw Failure(FailureKind::usage, "--passes needs --plan", "add --plan");
  if (arguments.has("ranks") &&
      (!arguments.has("plan") || !arguments.has("loss") || context.json()))
    throw Failure(FailureKind::usage, "--ranks needs --plan and --loss, without --json");
  for (const std::string option : {"no-optimize", "exact"})
    if (arguments.has(option) && !plans && !arguments.has("optimized"))
      throw Failure(FailureKind::usage,
                    fmt::format("--{} needs --optimized, --plan or --memory", option));
  if (read_precision(arguments) != f32 && !plans)
    throw Failure(FailureKind::usage, "--precision needs --plan or --memory");
  if (plans && arguments.has("optimized"))
    throw Failure(FailureKind::usage,
                  "--optimized cannot be used with --plan or --memory, which always show the "
                  "optimized graph's plan",
                  "remove --optimized");
}

// Models are described directly; drawings and plans are of the imported graph.
bool describes_model(const Arguments& arguments) {
  const auto is_set = [&](const char* option) { return arguments.has(option); };
  constexpr const char* of_graphs[] = {"dot", "svg", "optimized", "plan", "memory"};
  return std::none_of(std::begin(of_graphs), std::end(of_graphs), is_set) &&
         onnx::is_model(arguments.get("GRAPH"));
}

// Returns the error that would keep the model from running, other than missing operators.
std::optional<Failure> refusal_of(Context& context, const std::string& path,
                                  const onnx::ModelInfo& model) {
  onnx::ImportOptions options;
  options.keep_unknown = !model.missing.empty();
  options.trust_links = context.global().has("trust-links");
  try {
    const auto graph = onnx::load(context.host(), path, options);
    if (model.missing.empty()) plan_if_shapes_known(context, graph);
  } catch (const Failure& failure) {
    if (model.missing.empty() || failure.kind() != FailureKind::plugin) return failure;
  }
  return {};
}

// Returns the original graph, or the one that a session executes.
Graph requested_graph(Context& context, const Arguments& arguments, const LoadOptions& options) {
  auto graph = load_graph(context, arguments.get("GRAPH"), options);
  if (!arguments.has("optimized")) return graph;
  graph.bind();
  SessionOptions session;
  session.device = context.device();
  session.optimize = read_optimize(arguments);
  return Session(graph, session).optimized();
}

int run_show(Context& context, const Arguments& arguments) {
  check_one_form(context, arguments);
  refuse_lost_inputs({{"--svg", arguments.get("svg")}}, {{"GRAPH", arguments.get("GRAPH")}});
  const auto path = arguments.get("GRAPH");
  if (describes_model(arguments)) {
    const auto model = onnx::describe(context.host(), path);
    return show_onnx(context, model, refusal_of(context, path, model));
  }
  const LoadOptions unread{.verify = false};  // only JSON output contains the weights
  if (arguments.has("plan") || arguments.has("memory")) {
    show_plan(context, load_graph(context, path, unread), arguments);
  } else if (arguments.has("dot")) {
    write_result(printable_lines(draw_graph(requested_graph(context, arguments, unread))));
  } else if (arguments.has("svg")) {
    AtomicFile::write_text(arguments.get("svg"),
                           run_graphviz(draw_graph(requested_graph(context, arguments, unread))));
  } else {
    return show_graph(context, requested_graph(context, arguments,
                                               context.json() ? load_options(arguments) : unread));
  }
  return 0;
}

const bool added_show = add_command(
    {.name = "show",
     .doc = "show a graph as text, graph.json (--json) or drawing, or show its plan or the plan's "
            "memory",
     .details = "Text, JSON and drawings of a .tenon file need no plugins; --plan and --memory "
                "need all of them. Both can be printed as JSON with "
                "--json; --memory --svg draws the memory, with steps on the horizontal axis, "
                "offsets on the vertical axis and a box per value. "
                "A plan's memory does not include inputs, variables and outputs. The lower bound "
                "is the largest sum of bytes alive at one step. "
                "For an ONNX model, text and JSON list versions, inputs, outputs, operators, "
                "functions, the size of the weights, all missing "
                "operators, and the first other error that prevents a run; the exit code is 3 if "
                "an operator is missing and 4 if the model is "
                "refused. The other options show the imported graph.",
     .positionals = {{"GRAPH", "a .tenon, graph.json or ONNX file"}},
     .options =
         {{"dot", "", "print the graph in graphviz's DOT language"},
          {"svg", "FILE",
           "draw the graph to FILE (needs graphviz), or with --memory the plan's memory (does not "
           "need it)"},
          {"optimized", "",
           "show the graph that a session executes, after fusion and constant folding"},
          {"plan", "", "print the steps, and the memory offset and size of each output"},
          {"passes", "", "with --plan: first print what each planning pass changed"},
          {"memory", "",
           "print each value's memory: bytes, offset, first and last step, and the value whose "
           "memory it reuses"},
          {"shape", "NAME=DIMS", "input shape for --plan and --memory", Named{"image=8x64"}},
          {"no-capture", "", "with --plan: do not capture CUDA graphs"},
          {"loss", "NAME",
           "with --plan or --memory: show what a training batch runs to minimize this output or "
           "value"},
          {"ranks", "N",
           "with --plan and --loss: what N processes exchange in distributed training, and when",
           Integer{2, 1 << 24}},
          optimize_options()[0],
          optimize_options()[1],
          precision_option(),
          no_verify_option()},
     .run = run_show,
     .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
