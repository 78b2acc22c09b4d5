#include "cli/print/show_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <tenon/session.hpp>

#include "graph/model.hpp"
#include "graph/parameters.hpp"

namespace tenon::cli {
namespace {

const char* role_name(Role role) {
  static constexpr const char* names[] = {"input", "variable", "state", "constant", "output"};
  return names[static_cast<std::size_t>(role)];
}

void print_values(const GraphModel& model) {
  for (const auto role : {Role::input, Role::variable, Role::state, Role::constant})
    for (const auto& value : model.values)
      if (value.role == role)
        fmt::print("{:<9} {:<24} {}{}\n", role_name(role), model.strings[value.name], to_string(value.type),
                   role != Role::input && value.tensor == none ? "  (no values yet)" : "");
}

std::string parameters_of(const GraphModel& model, const NodeRecord& node) {
  std::string text;
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", model.strings[record.name], to_string(value_of(model, record)));
  }
  return text;
}

// Dimensions that nobody gives are 1, as in tenon run.
std::map<std::string, Shape> shapes_to_plan(const GraphModel& model) {
  std::map<std::string, Shape> shapes;
  for (const auto id : model.inputs) {
    const auto& value = model.values[id];
    if (value.type.rank < 0) continue;
    auto shape = shape_of(value.type);
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape[axis] == unknown) shape.set(axis, 1);
    shapes.emplace(model.strings[value.name], shape);
  }
  return shapes;
}

// Of all values; of nodes' outputs what inference finds, where something that is given is sparse and the plugins are there to ask.
std::vector<std::uint8_t> storages_of(const Graph& graph) {
  const auto& model = graph.model();
  std::vector<std::uint8_t> storages;
  storages.reserve(model.values.size());
  for (const auto& value : model.values) storages.push_back(value.type.storage);
  if (std::all_of(storages.begin(), storages.end(), [](auto storage) { return storage == TENON_DENSE; })) return storages;
  try {
    Session session(graph.clone());
    std::map<std::string, Storage> found;
    for (const auto& step : session.plan(shapes_to_plan(model)).steps)
      for (const auto& output : step.outputs) found.emplace(output.value, output.storage);
    for (ValueId id = 0; id < storages.size(); ++id)
      if (const auto made = found.find(value_label(model, id)); made != found.end() && model.values[id].role == Role::output)
        storages[id] = static_cast<std::uint8_t>(made->second);
  } catch (const Failure& failure) {
    fmt::print(stderr, "note: which outputs of nodes are sparse is not known: {}\n", failure.what());
  }
  return storages;
}

void print_node(const GraphModel& model, const NodeRecord& node, const std::vector<std::uint8_t>& storages) {
  std::vector<std::string> inputs, outputs;
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    const auto value = model.edges[node.first_edge + i];
    inputs.push_back(value == none ? "-" : value_label(model, value));
  }
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    auto type = model.values[node.first_output + i].type;
    type.storage = storages[node.first_output + i];
    outputs.push_back(to_string(type));
  }
  fmt::print("node      {:<24} {} ({}) -> {}{}{}\n", model.strings[node.name], work_label(model, node), fmt::join(inputs, ", "),
             fmt::join(outputs, ", "), node.attribute_count == 0 ? "" : "  ", parameters_of(model, node));
}

void print_graph(const Graph& graph) {
  const auto& model = graph.model();
  const auto storages = storages_of(graph);
  print_values(model);
  for (const auto& node : model.nodes) print_node(model, node, storages);
  for (const auto& [name, value] : model.outputs) {
    auto type = model.values[value].type;
    type.storage = storages[value];
    fmt::print("output    {:<24} {} {}\n", model.strings[name], value_label(model, value), to_string(type));
  }
  for (const auto& use : model.operators)
    fmt::print("uses      {:<24} version {}{}\n", use.name, use.version,
               use.plugin == none ? "" : fmt::format(", plugin {} {}", model.plugins[use.plugin].name, model.plugins[use.plugin].version));
}

void print_training(const TrainingRecord& training) {
  std::string parameters;
  for (const auto& [name, value] : training.parameters) parameters += fmt::format(" {}={}", name, to_string(value));
  fmt::print("training  {:<24} step {}, epoch {} after {} examples, {} slots {}\n", training.optimizer, training.step, training.epoch,
             training.data_position, training.slots.size(), parameters);
}

}  // namespace

bool is_graph_name(const std::string& text) {
  return text.ends_with(".tenon") || text.ends_with(".json");
}

Option no_verify_option() {
  return {"no-verify", "", "skip the comparison of weights with their checksums, so that a file of any size opens at once"};
}

LoadOptions load_options(const Arguments& arguments) {
  return {.verify = !arguments.has("no-verify")};
}

int show_graph(Context& context, const std::string& path, const LoadOptions& options) {
  const auto graph = Graph::load(context.host(), path, options);
  if (context.json())
    fmt::print("{}\n", graph.to_json());
  else
    print_graph(graph);
  if (!context.json() && graph.model().training) print_training(*graph.model().training);
  return 0;
}

Shape parse_shape(const std::string& text) {
  if (text == "scalar") return Shape::scalar();
  std::vector<std::int64_t> dims;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::int64_t dim = 0;
    const auto [stop, error] = std::from_chars(at, end, dim);
    const bool separator = stop != end && (*stop == 'x' || *stop == ',') && stop + 1 != end;
    if (error != std::errc() || dim < 0 || dims.size() == max_rank || (stop != end && !separator))
      throw Failure(FailureKind::usage, fmt::format("'{}' is no shape", text), "write it like 8x64, or scalar; at most 8 dimensions");
    dims.push_back(dim);
    if (stop == end) return {dims.data(), static_cast<int>(dims.size())};
    at = stop + 1;
  }
}

}  // namespace tenon::cli
