#include "cli/print/show_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <tenon/host/session.hpp>

#include "cli/streams.hpp"
#include "io/counted.hpp"
#include "io/utf8.hpp"

namespace tenon::cli {
namespace {

// `  {'red', 'green'}`, or nothing for numbers.
std::string categories_text(const ValueInfo& value) {
  constexpr std::size_t max_shown = 8;
  const auto& names = value.categories;
  if (names.empty()) return {};
  std::string text = "  {";
  for (std::size_t i = 0; i < std::min(names.size(), max_shown); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(names[i]));
  if (names.size() > max_shown) text += fmt::format(", ... {} categories", names.size());
  return text + '}';
}

void print_values(const Graph& graph) {
  const auto print = [](const char* role, const ValueInfo& value, bool has_values) {
    write_result("{:<9} {:<24} {}{}{}\n", role, value.name, type_text(value),
                 categories_text(value), has_values ? "" : "  (uninitialized)");
  };
  for (const auto& value : graph.inputs()) print("input", value, true);
  for (const auto& [role, values] :
       {std::pair("variable", graph.variables()), std::pair("state", graph.states()),
        std::pair("constant", graph.constants())})
    for (const auto& value : values)
      print(role, value, static_cast<bool>(graph.tensor(value.name)));
}

// Prints the size of the trainable weights: all elements of all variables, whether stored or not.
void print_size(const Graph& graph) {
  const auto variables = graph.variables();
  std::uint64_t elements = 0, bytes = 0;
  for (const auto& value : variables) {
    const auto size = value.shape.size();
    if (size < 0 || !value.dtype) return;  // some sizes are unknown
    elements += static_cast<std::uint64_t>(size),
        bytes += static_cast<std::uint64_t>(size) * size_of(*value.dtype);
  }
  if (!variables.empty())
    write_result("{:<9} {} in {}, {}\n", "weights", counted(elements, "parameter"),
                 counted(variables.size(), "variable"), counted(bytes, "byte"));
}

std::string text_of(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, to_string(value));
  return text;
}

// Unspecified dimensions are 1, as in tenon run.
std::map<std::string, Shape> shapes_to_plan(const Graph& graph) {
  std::map<std::string, Shape> shapes;
  for (auto input : graph.inputs()) {
    if (!input.shape.has_rank()) continue;
    for (int axis = 0; axis < input.shape.rank(); ++axis)
      if (input.shape[axis] == unknown) input.shape.set(axis, 1);
    shapes.emplace(input.name, input.shape);
  }
  return shapes;
}

bool is_any_sparse(const Graph& graph) {
  for (const auto& group : {graph.inputs(), graph.variables(), graph.states(), graph.constants()})
    if (std::any_of(group.begin(), group.end(),
                    [](const auto& value) { return value.storage != Storage::dense; }))
      return true;
  return false;
}

// Returns the storage of nodes' outputs by inference, if an input is sparse and the plugins are
// available. Values not listed are dense.
std::map<std::string, Storage> storages_of(const Graph& graph) {
  std::map<std::string, Storage> found;
  if (!is_any_sparse(graph)) return found;
  try {
    Session session(graph.clone(), {.optimize = Optimize::none});
    for (const auto& step : session.plan(shapes_to_plan(graph)).steps)
      for (const auto& output : step.outputs) found.emplace(output.value, output.storage);
  } catch (const Failure& failure) {
    write_message("note: cannot determine which outputs are sparse: {}\n", failure.what());
  }
  return found;
}

class GraphText {
 public:
  explicit GraphText(const Graph& graph) : graph_(graph), storages_(storages_of(graph)) {}

  void print() const {
    print_values(graph_);
    print_size(graph_);
    for (const auto& node : graph_.nodes()) print_node(node);
    for (const auto& output : graph_.outputs())
      write_result("output    {:<24} {} {}{}\n", output.name, output.value, type_of(output.value),
                   categories_text(output));
    for (const auto& op : graph_.operators())
      write_result("uses      {:<24} version {}{}{}{}\n", op.full_name(), op.version,
                   op.plugin.empty() ? "" : ", plugin " + op.plugin,
                   op.plugin_version.empty() ? "" : " ", op.plugin_version);
  }

 private:
  std::string type_of(const std::string& value) const {
    auto info = graph_.info(graph_.find(value));
    if (const auto made = storages_.find(value);
        made != storages_.end() && info.role == Role::output)
      info.storage = made->second;
    return type_text(info);
  }

  void print_node(const NodeInfo& node) const {
    static constexpr const char* passes[] = {"", " backward", " recomputed"};  // enum NodeKind
    std::vector<std::string> inputs, outputs;
    for (const auto& input : node.inputs) inputs.push_back(input.empty() ? "-" : input);
    for (const auto& output : node.outputs) outputs.push_back(type_of(output));
    write_result("node      {:<24} {}{} ({}) -> {}{}{}\n", node.name, node.op,
                 passes[static_cast<std::size_t>(node.kind)],
                 fmt::format("{}", fmt::join(inputs, ", ")),
                 fmt::format("{}", fmt::join(outputs, ", ")), node.attributes.empty() ? "" : "  ",
                 text_of(node.attributes));
  }

  const Graph& graph_;
  std::map<std::string, Storage> storages_;
};

void print_training(const TrainingInfo& training) {
  const auto parameters = text_of(training.parameters);
  write_result("training  {:<24} step {}, epoch {} after {}, {} {}{}\n", training.optimizer,
               training.step, training.epoch, counted(training.examples, "example"),
               counted(training.slots, "slot"), parameters.empty() ? "" : " ", parameters);
}

}  // namespace

bool is_graph_name(const std::string& text) {
  return text.ends_with(".tenon") || text.ends_with(".json");
}

Option no_verify_option() {
  return {"no-verify", "",
          "do not verify the weights' checksums, so that large files open immediately"};
}

LoadOptions load_options(const Arguments& arguments) {
  return {.verify = !arguments.has("no-verify")};
}

int show_graph(const Context& context, const Graph& graph) {
  if (context.json())
    write_result(graph.to_json() + '\n');
  else
    GraphText(graph).print();
  if (const auto training = graph.training(); training && !context.json())
    print_training(*training);
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
      throw Failure(FailureKind::usage, fmt::format("'{}' is not a shape", text),
                    "for example 8x64, or scalar; at most 8 dimensions");
    dims.push_back(dim);
    if (stop == end) return {dims.data(), static_cast<int>(dims.size())};
    at = stop + 1;
  }
}

}  // namespace tenon::cli
