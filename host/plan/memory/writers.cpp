#include <algorithm>

#include "graph/inference/type.hpp"
#include "isolate/shared_memory.hpp"
#include "plan/passes.hpp"

namespace tenon {
namespace {

bool is_large_number(const tenon_type& type) {
  return type.storage == TENON_DENSE && type.dtype >= TENON_F16 && type.dtype <= TENON_F64 &&
         byte_count(type) >= static_cast<std::int64_t>(shared_memory::min_shared_bytes);
}

/// Copies between devices count like elementwise operators. Other worker processes are responsible
/// for their own reads.
bool reads_once(const LoweredGraph& graph, NodeId id) {
  return graph.worker_of(id) != nullptr || graph.copies_at(id) ||
         (graph.binding().nodes[id].info->elementwise && !graph.sparse[id]);
}

}  // namespace

// A worker that may write to memory could still do so after its call, while others read. Therefore
// only large floating-point values written by a single plugin qualify, and in this process only
// elementwise operators may read them, which read each element once: a kernel that reads twice, to
// count before it stores or to sort, could be made to access memory out of bounds.
void find_writers(PlanDraft& draft) {
  auto& memory = draft.memory();
  const auto& graph = draft.graph();
  const auto& model = graph.model();
  memory.isolates = std::any_of(memory.order.begin(), memory.order.end(),
                                [&](NodeId id) { return graph.worker_of(id) != nullptr; });
  auto& writers = draft.writers;
  writers.assign(model.values.size(), nullptr);
  if (!memory.isolates) return;
  std::vector<bool> excluded(model.values.size());
  for (const auto id : memory.order) {
    const auto* writer = graph.worker_of(id);
    const auto& node = model.nodes[id];
    for (auto value = node.first_output; value < node.first_output + node.output_count; ++value) {
      const auto root = memory.root[value];
      if (writer == nullptr || !is_large_number(memory.types[value]) ||
          (writers[root] != nullptr && writers[root] != writer))
        excluded[root] = true;
      writers[root] = writer;
    }
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model.edges[node.first_edge + i];
          value != none && !reads_once(graph, id))
        excluded[memory.root[value]] = true;
  }
  for (ValueId value = 0; value < writers.size(); ++value)
    if (excluded[value]) writers[value] = nullptr;
}

}  // namespace tenon
