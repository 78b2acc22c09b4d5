// tenon call: calls one operator without a graph.
#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/session.hpp>

#include "cli/command.hpp"
#include "cli/input/graph_inputs.hpp"
#include "cli/output/output_paths.hpp"
#include "cli/output/requested_outputs.hpp"
#include "cli/print/parameter_text.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

const OperatorInfo& operator_called(const Catalog& catalog, const std::string& name) {
  if (const auto* op = catalog.find(name)) return op->info;
  const auto why = catalog.why_missing(name), step = catalog.next_step(name);
  throw Failure(
      FailureKind::plugin,
      why.empty() ? fmt::format("there is no operator '{}'{}", name, catalog.not_searched_text())
                  : why,
      step.empty() ? did_you_mean(catalog.near(name), "tenon list shows the operators") : step);
}

// Returns the name of the input at each position, empty if it was not given. Declared inputs go by
// their names; a variadic input `name` takes name0, name1 ... from its position on.
std::vector<std::string> positional_names(const OperatorInfo& info, const NamedTensors& inputs) {
  std::vector<std::string> names;
  std::size_t known = 0;
  const auto add_input = [&](const std::string& name) {
    const bool is_set = inputs.contains(name);
    names.push_back(is_set ? name : "");
    known += is_set;
    return is_set;
  };
  for (const auto& input : info.inputs) {
    if (!input.variadic) {
      add_input(input.name);
      continue;
    }
    for (int i = 0; add_input(fmt::format("{}{}", input.name, i)); ++i) {
    }
    names.pop_back();
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (known == inputs.size()) return names;
  std::vector<std::string> declared;
  for (const auto& input : info.inputs)
    declared.push_back(input.variadic ? input.name + "0" : input.name);
  for (const auto& [name, tensor] : inputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Failure(FailureKind::usage, fmt::format("'{}' has no input '{}'", info.name, name),
                    did_you_mean(similar_names(name, declared),
                                 fmt::format("its inputs are {}", listed(declared))));
  return names;
}

// A graph of one node. Missing weights become variables, and gradients can be computed.
struct OneNode {
  Graph graph;
  NodeInfo node;

  OneNode(Host& host, const std::string& name, const OperatorInfo& info, const NamedTensors& inputs,
          const Attributes& attributes)
      : graph(host) {
    std::map<std::string, Value> values;
    // inputs that determine sizes need no gradient
    const auto decides_sizes = [&](const std::string& input) {
      return std::any_of(info.inputs.begin(), info.inputs.end(), [&](const InputInfo& declared) {
        return declared.on_cpu && declared.name == input;
      });
    };
    for (const auto& [input, tensor] : inputs)
      values.emplace(input, decides_sizes(input)
                                ? graph.constant(input, tensor)
                                : graph.input(input, tensor.dtype(), tensor.shape()));
    std::vector<Value> positional;
    for (const auto& input : positional_names(info, inputs)) positional.push_back(values[input]);
    add(name, info, positional, attributes);
    node = graph.nodes().back();
  }

  // Checks required inputs first: the graph's own error would give advice for graphs.
  void add(const std::string& name, const OperatorInfo& info, const std::vector<Value>& positional,
           const Attributes& attributes) {
    for (std::size_t i = 0; i < info.inputs.size(); ++i) {
      const auto& input = info.inputs[i];
      if (input.optional || input.variadic || input.weight.value_or(true) ||
          (i < positional.size() && !positional[i].empty()))
        continue;
      throw Failure(
          FailureKind::usage,
          fmt::format("[{}] input '{}' is missing ({})", info.name, input.name, input.doc),
          fmt::format("add --input {}=FILE or --input {}=random:2x3", input.name, input.name));
    }
    graph.add(name, positional, attributes);
  }

  void add_outputs() {
    for (const auto& name : node.outputs)
      if (const auto value = graph.info(graph.find(name)); !value.hidden)
        graph.output(value.output, graph.find(name));
  }

  // Adds the gradients of the sum of the first output's elements.
  void add_gradients(const NamedTensors& inputs) {
    std::vector<Value> wrt;
    std::vector<std::string> names;
    for (const auto& input : graph.inputs())
      if (has_gradient(inputs.at(input.name).dtype()))
        wrt.push_back(graph.find(input.name)), names.push_back("grad_" + input.name);
    add_gradient_outputs(graph, graph.gradient(graph.find(node.outputs.at(0)), wrt), names,
                         "the first output");
  }
};

int run_call(Context& context, const Arguments& arguments) {
  auto& host = context.host();
  const auto catalog = host.catalog();
  const auto name = arguments.get("OPERATOR");
  const auto& info = operator_called(catalog, name);
  const auto requested = requested_outputs(arguments);
  std::vector<NamedFile> files;
  add_output_files(files, requested);
  refuse_same_outputs(files);
  refuse_lost_inputs(files, array_files(arguments, "input"));
  if (arguments.has("gradient")) require_requested_gradient(requested);
  const auto attributes = parse_parameters(info, arguments.named("set"));
  const auto inputs = read_call_inputs(arguments);

  OneNode call(host, name, info, inputs, attributes);
  call.add_outputs();
  if (arguments.has("gradient")) call.add_gradients(inputs);
  SessionOptions options;
  options.seed = arguments.count("seed");
  options.training = arguments.has("training");
  options.device = context.device();
  RunOptions request;
  for (const auto& [output, file] : requested) request.outputs.push_back(output);
  Session session(call.graph, options);
  // Inputs that no requested output needs are not an error here.
  NamedTensors needed;
  for (const auto& input : call.graph.needed_inputs(request.outputs, options.training))
    needed.emplace(input.name, inputs.at(input.name));
  give_outputs(context, call.graph, session.run(needed, request), requested);
  return 0;
}

const bool added_call = add_command(
    {.name = "call",
     .doc = "call one operator without a graph",
     .details = "tenon inspect OPERATOR lists the inputs, outputs and parameters. Optional inputs "
                "may be omitted; missing weights are random. "
                "--gradient also computes grad_NAME, the gradient of the sum of the first output's "
                "elements with respect to input NAME. "
                "random:SHAPE is a float32 tensor uniform in [-1, 1); with an integer :DTYPE, the "
                "values are 0 to 9.",
     .positionals = {{"OPERATOR", "operator name, as shown by tenon list"}},
     .options = {call_input_option(),
                 {"set", "NAME=VALUE",
                  "operator parameter; lists are written a,b,c, tensors as a list or a file",
                  Named{"axis=1"}},
                 output_option(),
                 {"gradient", "",
                  "also compute the gradients with respect to floating-point and complex inputs"},
                 {"training", "", "run in training mode (dropout is active, for example)"},
                 density_option(),
                 {"seed", "N", "seed for random inputs, weights and operators", Integer{}, "0"}},
     .run = run_call,
     .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli
