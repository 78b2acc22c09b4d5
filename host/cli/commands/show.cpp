// tenon show: a graph as text, JSON, DOT or SVG, or its plan.
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
#include "cli/input/optimize.hpp"
#include "cli/output/output_paths.hpp"
#include "cli/print/json_text.hpp"
#include "cli/print/show_graph.hpp"
#include "cli/print/show_onnx.hpp"
#include "cli/streams.hpp"
#include "io/atomic_file.hpp"
#include "io/child.hpp"
#include "io/counted.hpp"
#include "io/readable_bytes.hpp"
#include "io/system_reason.hpp"
#include "io/utf8.hpp"

namespace tenon::cli {
namespace {

std::string run_graphviz(const std::string& dot) {
  const Child::StartError no_program{"the graph cannot be drawn: graphviz's program dot cannot be started",
                                     "install graphviz, or write the drawing's text with --dot and draw it elsewhere"};
  // Its input is a file, and no second pipe: two would fill up while each side waits for the other.
  OpenFile input(memfd_create("graph.dot", MFD_CLOEXEC));
  const auto written = write(input.descriptor(), dot.data(), dot.size());
  if (written != static_cast<ssize_t>(dot.size()) || lseek(input.descriptor(), 0, SEEK_SET) != 0)
    throw Failure(FailureKind::failed, "the graph cannot be drawn: " + system_reason(errno), no_program.hint);
  const auto [svg, status] = Child({"dot", "-Tsvg"}, {input.descriptor(), Child::report, STDERR_FILENO}, no_program).read_all();
  if (status != 0 || svg.empty())
    throw Failure(FailureKind::failed, "the graph cannot be drawn: graphviz's program dot failed", no_program.hint);
  return svg;
}

/// What processes send each other in a step of training.
std::string buckets_text(const std::vector<PlannedBucket>& buckets, std::size_t steps, std::int64_t ranks) {
  std::int64_t bytes = 0;
  for (const auto& bucket : buckets) bytes += bucket.bytes;
  const auto sent = static_cast<std::uint64_t>(2 * (ranks - 1) * bytes / ranks);
  auto text = fmt::format("\n{} processes add {} of gradients in {}; each sends and receives about {} a step\n", ranks,
                          readable_bytes(static_cast<std::uint64_t>(bytes)), counted(buckets.size(), "bucket"), readable_bytes(sent));
  for (const auto& bucket : buckets)
    text += fmt::format("  {:>10} {:<8} after step {} of {}: {}\n", readable_bytes(static_cast<std::uint64_t>(bucket.bytes)),
                        name_of(bucket.dtype), bucket.steps, steps, fmt::join(bucket.variables, ", "));
  return text;
}

// Dimensions that nobody gives are 1, as in tenon run. With a loss, the graph is what training runs for each batch.
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
  std::vector<Tensor> trained;  // handles, as the trainer has them, so that nothing is kept of what it changes
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
    write_result(printable_lines((arguments.has("passes") ? describe_passes(plan) + '\n' : std::string()) + describe(plan)));
  if (arguments.has("ranks"))
    write_result(printable_lines(buckets_text(planned_buckets(graph, plan, static_cast<int>(arguments.integer("ranks"))), plan.steps.size(),
                                              arguments.integer("ranks"))));
}

void check_one_form(const Context& context, const Arguments& arguments) {
  std::vector<std::string> forms;
  for (const auto* form : {"dot", "plan", "memory", "svg"})
    if (arguments.has(form)) forms.push_back(std::string("--") + form);
  if (context.json()) forms.emplace_back("--json");
  const auto together = [](const std::string& one, const std::string& other) {
    return (other == "--json" && (one == "--plan" || one == "--memory")) || (one == "--memory" && other == "--svg");
  };
  for (std::size_t i = 0; i < forms.size(); ++i)
    for (std::size_t j = i + 1; j < forms.size(); ++j)
      if (!together(forms[i], forms[j]))
        throw Failure(FailureKind::usage, fmt::format("{} and {} ask for different forms of the graph", forms[i], forms[j]),
                      "give one of them; --plan and --memory go with --json, and --memory with --svg");
  const bool plans = arguments.has("plan") || arguments.has("memory");
  for (const std::string option : {"shape", "loss"})
    if (arguments.has(option) && !plans)
      throw Failure(FailureKind::usage, fmt::format("--{} is for --plan and --memory, and neither is given", option));
  if (arguments.has("passes") && !arguments.has("plan"))
    throw Failure(FailureKind::usage, "--passes is for --plan, and that is not given", "add --plan");
  if (arguments.has("ranks") && (!arguments.has("plan") || !arguments.has("loss") || context.json()))
    throw Failure(FailureKind::usage, "--ranks is for --plan with --loss, as text");
  for (const std::string option : {"no-optimize", "exact"})
    if (arguments.has(option) && !plans && !arguments.has("optimized"))
      throw Failure(FailureKind::usage, fmt::format("--{} is for --optimized, --plan and --memory, and none is given", option));
  if (read_precision(arguments) != f32 && !plans)
    throw Failure(FailureKind::usage, "--precision is for --plan and --memory, and neither is given");
  if (plans && arguments.has("optimized"))
    throw Failure(FailureKind::usage, "--optimized shows a graph, and --plan and --memory show the plan of an optimized one anyway",
                  "leave --optimized out");
}

// A model is described as it is; drawings and plans are of the graph that it becomes.
bool describes_model(const Arguments& arguments) {
  const auto given = [&](const char* option) { return arguments.has(option); };
  constexpr const char* of_graphs[] = {"dot", "svg", "optimized", "plan", "memory"};
  return std::none_of(std::begin(of_graphs), std::end(of_graphs), given) && onnx::is_model(arguments.get("GRAPH"));
}

// What a run would refuse of the model besides operators that are missing.
std::optional<Failure> refusal_of(Context& context, const std::string& path, const onnx::ModelInfo& model) {
  onnx::ImportOptions options;
  options.keep_unknown = !model.missing.empty();
  options.trust_links = context.global().has("trust-links");
  try {
    const auto graph = onnx::load(context.host(), path, options);
    if (model.missing.empty()) plan_if_known(context, graph);
  } catch (const Failure& failure) {
    if (model.missing.empty() || failure.kind() != FailureKind::plugin) return failure;
  }
  return {};
}

// As it is written, or as a session runs it.
Graph wanted_graph(Context& context, const Arguments& arguments, const LoadOptions& options) {
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
  const LoadOptions unread{.verify = false};  // only JSON has the weights in it
  if (arguments.has("plan") || arguments.has("memory")) {
    show_plan(context, load_graph(context, path, unread), arguments);
  } else if (arguments.has("dot")) {
    write_result(printable_lines(draw_graph(wanted_graph(context, arguments, unread))));
  } else if (arguments.has("svg")) {
    AtomicFile::write_text(arguments.get("svg"), run_graphviz(draw_graph(wanted_graph(context, arguments, unread))));
  } else {
    return show_graph(context, wanted_graph(context, arguments, context.json() ? load_options(arguments) : unread));
  }
  return 0;
}

const bool added_show = add_command(
    {.name = "show",
     .doc = "show a graph: as text, as graph.json with --json, drawn, as its plan, or its plan's memory",
     .details =
         "Text, JSON and drawings of a .tenon file need no plugin; --plan and --memory need them all. Both can be had as "
         "JSON with --json, the memory as a picture with --svg: steps across, offset up, a box for each value. Inputs, "
         "variables and outputs are not part of a plan's memory. No plan can need less than the lower bound, the largest "
         "sum of bytes that are alive at one step. Of an ONNX model, text and JSON tell versions, inputs, outputs, operators, "
         "functions, the size of its weights, all operators that are missing, and the first other reason for which it cannot run; the "
         "exit code is 3 where an operator is missing, and 4 where the model is refused. The other forms show the graph that it becomes.",
     .positionals = {{"GRAPH", "a .tenon, graph.json or ONNX file"}},
     .options = {{"dot", "", "print the graph in graphviz's language"},
                 {"svg", "FILE", "draw the graph into FILE (needs graphviz), or with --memory its plan's memory (needs nothing)"},
                 {"optimized", "",
                  "show what a session makes of the graph before it runs it: fused steps, constants that are computed once"},
                 {"plan", "", "print the steps, where each output lies and how much memory it takes"},
                 {"passes", "", "with --plan: first print what each pass of planning changed"},
                 {"memory", "", "print each value in memory: bytes, offset, first and last step, and the value whose memory it reuses"},
                 {"shape", "NAME=DIMS", "an input's shape for --plan and --memory, like image=8x64", Named{"image=8x64"}},
                 {"no-capture", "", "with --plan: without captured graphs of kernels on GPUs"},
                 {"loss", "NAME", "with --plan or --memory: of what training by this output or value runs for each batch"},
                 {"ranks", "N", "with --plan and --loss: what N processes that train together send, and when (tenon train by mpirun)",
                  Integer{2, 1 << 24}},
                 optimize_options()[0],
                 optimize_options()[1],
                 precision_option(),
                 no_verify_option()},
     .run = run_show,
     .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
