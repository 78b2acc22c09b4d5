#include "graph/kept_values.hpp"

#include <fmt/format.h>

namespace tenon {

KeptValues::KeptValues(GraphBuilder& builder, const std::vector<NodeId>& recompute)
    : builder_(builder), recompute_(builder.model().nodes.size()) {
  for (const auto id : recompute) {
    builder.require_repeatable(id);
    recompute_[id] = true;
  }
}

bool KeptValues::is_again(ValueId value) const {
  if (value == none) return false;
  const auto producer = builder_.model().values[value].producer;
  return producer < recompute_.size() && recompute_[producer];
}

ValueId KeptValues::known(ValueId value) const {
  if (!is_again(value)) return value;
  const auto& record = builder_.model().values[value];
  return builder_.model().nodes[again_.at(record.producer)].first_output + record.index;
}

// With a stack of its own: a chain of such nodes may be longer than the program's.
ValueId KeptValues::of(ValueId value) {
  if (!is_again(value)) return value;
  std::vector<NodeId> open{builder_.model().values[value].producer};
  while (!open.empty()) {
    const auto id = open.back();
    const auto node = builder_.model().nodes[id];
    std::vector<ValueId> inputs(builder_.model().edges.begin() + node.first_edge,
                                builder_.model().edges.begin() + node.first_edge + node.input_count);
    const auto before = open.size();
    for (const auto input : inputs)
      if (is_again(input) && !again_.contains(builder_.model().values[input].producer))
        open.push_back(builder_.model().values[input].producer);
    if (open.size() != before) continue;
    open.pop_back();
    if (again_.contains(id)) continue;
    for (auto& input : inputs) input = known(input);
    again_.emplace(id, builder_.again(id, inputs));
  }
  return known(value);
}

}  // namespace tenon
