#include "cli/input/examples.hpp"

#include <fmt/format.h>

#include "cli/input/feed.hpp"
#include "cli/input/rows.hpp"
#include "cli/print/show_graph.hpp"
#include "graph/model.hpp"

namespace tenon::cli {

NamedTensors read_examples(const Graph& graph, const Arguments& arguments, const std::string& option) {
  const auto& model = graph.model();
  std::vector<std::string> names;
  for (const auto id : model.inputs) names.emplace_back(model.strings[model.values[id].name]);
  return read_examples(graph, arguments, option, names);
}

NamedTensors read_examples(const Graph& graph, const Arguments& arguments, const std::string& option,
                           const std::vector<std::string>& inputs) {
  const auto& model = graph.model();
  const auto given = arguments.named(option);
  check_input_names(model, given);
  NamedTensors examples;
  for (const auto& name : inputs) {
    const auto found = given.find(name);
    if (found == given.end())
      throw Failure(FailureKind::usage, fmt::format("there are no data for input '{}'", name),
                    fmt::format("give them with --{} {}=FILE.npy", option, name));
    const auto& type = model.values[find_value(model, name)].type;
    examples.emplace(name, fitted(name, read_rows(name, found->second, type), type));
  }
  return examples;
}

}  // namespace tenon::cli
