#include "graph/gradient/recomputed_values.hpp"

#include <fmt/format.h>

namespace tenon {

RecomputedValues::RecomputedValues(GraphBuilder& builder, const std::vector<NodeId>& recompute)
    : builder_(builder), recompute_(builder.model().nodes.size()) {
  for (const auto id : recompute) {
    builder.require_repeatable(id);
    recompute_[id] = true;
  }
}

bool RecomputedValues::is_recomputed(ValueId value) const {
  if (value == none) return false;
  const auto producer = builder_.model().values[value].producer;
  return producer < recompute_.size() && recompute_[producer];
}

ValueId RecomputedValues::known(ValueId value) const {
  if (!is_recomputed(value)) return value;
  const auto& record = builder_.model().values[value];
  return builder_.model().nodes[recomputed_.at(record.producer)].first_output + record.index;
}

// Uses an explicit stack: a sequence of recomputed nodes may be too long for recursion.
ValueId RecomputedValues::of(ValueId value) {
  if (!is_recomputed(value)) return value;
  std::vector<NodeId> open{builder_.model().values[value].producer};
  while (!open.empty()) {
    const auto id = open.back();
    const auto node = builder_.model().nodes[id];
    std::vector<ValueId> inputs(
        builder_.model().edges.begin() + node.first_edge,
        builder_.model().edges.begin() + node.first_edge + node.input_count);
    const auto before = open.size();
    for (const auto input : inputs)
      if (is_recomputed(input) && !recomputed_.contains(builder_.model().values[input].producer))
        open.push_back(builder_.model().values[input].producer);
    if (open.size() != before) continue;
    open.pop_back();
    if (recomputed_.contains(id)) continue;
    for (auto& input : inputs) input = known(input);
    recomputed_.emplace(id, builder_.recompute(id, inputs));
  }
  return known(value);
}

}  // namespace tenon
