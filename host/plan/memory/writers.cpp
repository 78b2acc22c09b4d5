#include "plan/memory/writers.hpp"

#include "graph/type.hpp"
#include "isolate/shared_memory.hpp"

namespace tenon {
namespace {

bool is_large_number(const tenon_type& type) {
  return type.storage == TENON_DENSE && type.dtype >= TENON_F16 && type.dtype <= TENON_F64 &&
         byte_count(type) >= static_cast<std::int64_t>(shared_memory::worth_sharing);
}

/// Copies between devices do as elementwise operators do; what another worker makes of its inputs is its own affair.
bool reads_once(const Lowered& graph, NodeId id) {
  return graph.worker_of(id) != nullptr || graph.copies_at(id) || (graph.binding().nodes[id].info->elementwise && !graph.sparse[id]);
}

}  // namespace

std::vector<const IsolatedPlugin*> find_writers(const Lowered& graph, const MemoryPlan& plan) {
  const auto& model = graph.model();
  std::vector<const IsolatedPlugin*> writers(model.values.size());
  std::vector<bool> excluded(model.values.size());
  for (const auto id : plan.order) {
    const auto* writer = graph.worker_of(id);
    const auto& node = model.nodes[id];
    for (auto value = node.first_output; value < node.first_output + node.output_count; ++value) {
      const auto root = plan.root[value];
      if (writer == nullptr || !is_large_number(plan.types[value]) || (writers[root] != nullptr && writers[root] != writer))
        excluded[root] = true;
      writers[root] = writer;
    }
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model.edges[node.first_edge + i]; value != none && !reads_once(graph, id)) excluded[plan.root[value]] = true;
  }
  for (ValueId value = 0; value < writers.size(); ++value)
    if (excluded[value]) writers[value] = nullptr;
  return writers;
}

}  // namespace tenon
