#include "device/device.hpp"
#include "graph/inference/inference.hpp"
#include "plan/passes.hpp"

namespace tenon {
namespace {

std::uint64_t scratch_bytes_of(PlanDraft& draft, NodeId id, CallTypes& types) {
  const auto& graph = draft.graph();
  if (const auto* group = graph.group_at(id); group != nullptr) return group->scratch_bytes();
  const auto& kernel = graph.kernel_of(id, draft.kernels);
  if (graph.copies_at(id) || kernel.table()->workspace == nullptr) return 0;
  const auto& node = draft.model().nodes[id];
  gather_types(draft.model(), forward_of(draft.model(), node), draft.types(), types);
  const auto dispatch = dispatch_of(node.pass == Pass::backward, graph.sparse[id]);
  // libraries' workspace sizes depend on the current device
  const CurrentDevice current(*graph.devices[id]);
  return at_node(draft.model(), id, [&] {
    return workspace_bytes(*graph.binding().nodes[id].info, kernel, dispatch, types);
  });
}

}  // namespace

void add_workspaces(PlanDraft& draft) {
  auto& memory = draft.memory();
  CallTypes types;
  memory.workspace_buffer.assign(memory.order.size(), none);
  memory.workspace_bytes.assign(memory.order.size(), 0);
  for (std::uint32_t step = 0; step < memory.order.size(); ++step) {
    const auto id = memory.order[step];
    const auto bytes = memory.workspace_bytes[step] = scratch_bytes_of(draft, id, types);
    if (bytes > 0)
      memory.workspace_buffer[step] = memory.add_buffer(
          *draft.graph().devices[id], nullptr, {static_cast<std::int64_t>(bytes), step, step});
  }
}

}  // namespace tenon
