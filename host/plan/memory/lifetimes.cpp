#include <algorithm>

#include "plan/passes.hpp"

namespace tenon {
namespace {

void find_last_uses(PlanDraft& draft) {
  const auto& memory = draft.memory();
  const auto& model = draft.model();
  draft.last_use.assign(model.values.size(), none);
  for (std::uint32_t step = 0; step < memory.order.size(); ++step) {
    const auto& node = model.nodes[memory.order[step]];
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      draft.last_use[memory.root[node.first_output + i]] = step;
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model.edges[node.first_edge + i]; value != none)
        draft.last_use[memory.root[value]] = step;
  }
}

// A variable's new value is written directly to its memory if the operator allows it and neither a
// later step nor the update of another variable reads the old value.
void find_updates(PlanDraft& draft) {
  auto& memory = draft.memory();
  const auto& model = draft.model();
  const auto& binding = draft.graph().binding();
  std::vector<bool> read_by_update(model.values.size());
  for (const auto& [variable, value] : model.updates) read_by_update[value] = true;
  const auto in_place = [&](ValueId variable, ValueId value) {
    const auto producer = model.values[value].producer;
    if (producer == none || read_by_update[variable] || memory.readers[value] != 1 ||
        memory.root[value] != value)
      return false;
    const auto& node = model.nodes[producer];
    if (node.pass != Pass::forward) return false;
    const auto* edges = model.edges.data() + node.first_edge;
    if (std::count(edges, edges + node.input_count, variable) != 1 ||
        memory.order[draft.last_use[variable]] != producer)
      return false;
    const auto& pairs = binding.nodes[producer].info->inplace;
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const auto& pair) {
                         const auto input = static_cast<std::uint32_t>(pair.first);
                         return input < node.input_count && edges[input] == variable &&
                                static_cast<std::uint32_t>(pair.second) ==
                                    model.values[value].index;
                       }) &&
           memory.types[variable].dtype == memory.types[value].dtype &&
           same_dims(memory.types[variable], memory.types[value]);
  };
  for (const auto& [variable, value] : model.updates) {
    if (in_place(variable, value)) {
      memory.updated.emplace(value, variable);
    } else {
      memory.copies.emplace_back(variable, value);
      if (model.values[value].producer != none)
        draft.last_use[memory.root[value]] = static_cast<std::uint32_t>(memory.order.size() - 1);
    }
  }
}

}  // namespace

void find_lifetimes(PlanDraft& draft) {
  find_last_uses(draft);
  if (draft.request.training) find_updates(draft);
}

}  // namespace tenon
