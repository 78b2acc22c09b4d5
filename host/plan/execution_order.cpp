#include "plan/execution_order.hpp"

namespace tenon {

std::vector<NodeId> execution_order(const LoweredGraph& graph, bool training) {
  const auto& model = graph.model();
  std::vector<bool> needed(model.nodes.size());
  const auto need = [&](ValueId value) {
    if (value != none && model.values[value].producer != none)
      needed[model.values[value].producer] = true;
  };
  for (const auto& [name, value] : model.outputs) need(value);
  if (training)
    for (const auto& [variable, value] : model.updates) need(value);
  for (auto next = graph.order.rbegin(); next != graph.order.rend(); ++next) {
    const auto id = *next;
    const auto& node = model.nodes[id];
    if (!graph.partial &&
        ((training && node.state_count > 0) || graph.binding().nodes[id].info->communicates))
      needed[id] = true;
    if (!needed[id]) continue;
    for (std::uint32_t i = 0; i < node.input_count; ++i) need(model.edges[node.first_edge + i]);
  }
  std::vector<NodeId> order;
  for (const auto id : graph.order)
    if (needed[id]) order.push_back(id);
  return order;
}

Readers count_readers(const GraphModel& model, std::span<const NodeId> order, bool training) {
  Readers readers{std::vector<std::uint32_t>(model.values.size()),
                  std::vector<std::uint32_t>(model.values.size())};
  for (const auto id : order) {
    const auto& node = model.nodes[id];
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model.edges[node.first_edge + i]; value != none) ++readers.all[value];
  }
  for (const auto& [name, value] : model.outputs) {
    ++readers.all[value];
    ++readers.output_names[value];
  }
  if (training)
    for (const auto& [variable, value] : model.updates) ++readers.all[value];
  return readers;
}

}  // namespace tenon
