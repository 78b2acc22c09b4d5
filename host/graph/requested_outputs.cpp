#include "graph/requested_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/failure.hpp>
#include <unordered_map>
#include <unordered_set>

#include "graph/name_mapping.hpp"
#include "io/counted.hpp"

namespace tenon {
namespace {

[[noreturn]] void report_unknown(const GraphModel& model, const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& [output, value] : model.outputs) names.push_back(model.strings[output]);
  throw Failure(FailureKind::usage, fmt::format("the graph has no output '{}'", name),
                fmt::format("its outputs are {}", listed(names)));
}

}  // namespace

RequestedOutputs::RequestedOutputs(const GraphModel& model, std::span<const std::string> names,
                                   bool training) {
  std::unordered_map<StringId, ValueId> all(model.outputs.begin(), model.outputs.end());
  std::unordered_set<StringId> added;
  for (const auto& name : names) {
    auto found = all.find(model.strings.find(name));
    if (found == all.end()) found = all.find(model.strings.find(graph_output_name(model, name)));
    if (found == all.end()) report_unknown(model, name);
    if (added.insert(found->first).second) outputs.push_back(*found);
  }
  values.assign(model.values.size(), false);
  nodes.assign(model.nodes.size(), false);
  for (const auto& [name, value] : outputs) values[value] = true;
  for (const auto& update : model.updates)
    if (training && values[update.first]) updates.push_back(update);
  for (const auto& [variable, value] : updates) values[value] = true;
  const auto read = [&](const NodeRecord& node) {
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model.edges[node.first_edge + i]; value != none) values[value] = true;
  };
  for (auto id = static_cast<NodeId>(model.nodes.size()); id-- > 0;) {
    const auto& node = model.nodes[id];
    const auto first = values.begin() + node.first_output;
    nodes[id] =
        nodes[id] || std::find(first, first + node.output_count, true) != first + node.output_count;
    if (!nodes[id]) continue;
    read(node);
    // a backward node's types depend on its origin
    if (node.origin != none) nodes[node.origin] = true;
  }
}

std::vector<ValueId> needed_inputs(const GraphModel& model, std::span<const std::string> outputs,
                                   bool training) {
  std::vector<ValueId> inputs(model.inputs.begin(), model.inputs.end());
  if (outputs.empty()) return inputs;
  const RequestedOutputs requested(model, outputs, training);
  std::erase_if(inputs, [&](ValueId id) { return !requested.values[id]; });
  return inputs;
}

}  // namespace tenon
