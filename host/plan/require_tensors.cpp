#include <fmt/format.h>

#include "plan/passes.hpp"

namespace tenon {
namespace {

void require_tensor(const GraphModel& model, const TensorTable& tensors, NodeId id, ValueId value) {
  const auto& record = model.values[value];
  if (record.role == Role::output || record.role == Role::input || tensors[value]) return;
  throw Failure(FailureKind::failed,
                fmt::format("{}: '{}' is {} and has no values", node_label(model, id),
                            value_label(model, value), to_string(record.type)));
}

void require_tensors_of(const GraphModel& model, const TensorTable& tensors, NodeId id) {
  const auto& node = model.nodes[id];
  for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i)
    if (const auto value = model.edges[node.first_edge + i]; value != none)
      require_tensor(model, tensors, id, value);
}

}  // namespace

void require_tensors(PlanDraft& draft) {
  for (const auto id : draft.memory().order) require_tensors_of(draft.model(), draft.tensors, id);
}

}  // namespace tenon
