#include <algorithm>

#include "device/devices.hpp"
#include "graph/operators/operator_use.hpp"
#include "plan/passes.hpp"

namespace tenon {
namespace {

// Whether a parameter omits the output. Other hidden outputs are always written: kernels may use
// them as scratch memory.
bool is_left_out(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info,
                 std::uint32_t output) {
  std::uint32_t end = 0;
  for (const auto& declared : info.outputs)
    if (output < (end += count_of(model, node, declared))) return declared.left_out;
  return false;
}

class BufferAssignment {
 public:
  explicit BufferAssignment(PlanDraft& draft)
      : draft_(draft), graph_(draft.graph()), model_(draft.model()), memory_(draft.memory()) {}

  void run() {
    memory_.arenas.push_back({&cpu_device(), nullptr, {}});
    memory_.buffer_of.assign(model_.values.size(), none);
    for (std::uint32_t step = 0; step < memory_.order.size(); ++step) {
      const auto& node = model_.nodes[memory_.order[step]];
      memory_.first_write.push_back(static_cast<std::uint32_t>(memory_.writes.size()));
      for (std::uint32_t i = 0; i < node.output_count; ++i)
        memory_.writes.push_back(assign_output(step, i));
    }
  }

 private:
  std::uint8_t assign_output(std::uint32_t step, std::uint32_t output);
  bool reuse_input(std::uint32_t step, std::uint32_t output);
  bool is_sparse(ValueId value) const { return memory_.types[value].storage != TENON_DENSE; }
  std::uint32_t inside_readers(ValueId value) const {
    return memory_.readers[value] - draft_.output_names[value];
  }

  PlanDraft& draft_;
  const LoweredGraph& graph_;
  const GraphModel& model_;
  MemoryPlan& memory_;
};

// Assigns memory to an output and returns its write mode.
std::uint8_t BufferAssignment::assign_output(std::uint32_t step, std::uint32_t output) {
  const auto& node = model_.nodes[memory_.order[step]];
  const auto value = node.first_output + output;
  const auto root = memory_.root[value];
  const auto& info = *graph_.binding().nodes[memory_.order[step]].info;
  if (memory_.readers[value] == 0 &&
      (node.pass == Pass::backward || is_left_out(model_, node, info, output)))
    return TENON_WRITE_NONE;
  if (is_sparse(value)) return TENON_WRITE_TO;
  if (memory_.updated.contains(value)) return TENON_WRITE_IN_PLACE;
  if (draft_.adds[value]) {
    memory_.buffer_of[value] = memory_.buffer_of[root];
    return TENON_WRITE_ADD;
  }
  if (draft_.output_names[root] > 0) {
    const bool adds = graph_.accumulates(memory_.order[step], output) && inside_readers(root) == 0;
    memory_.output_writes.emplace(root, MemoryPlan::OutputWrite{memory_.writes.size(), adds});
    return TENON_WRITE_TO;
  }
  if (reuse_input(step, output)) return TENON_WRITE_IN_PLACE;
  // Inputs are copied while kernels run, so memory of the copy must not be shared with theirs.
  const auto first = graph_.copies_external_value(memory_.order[step]) ? 0 : step;
  memory_.buffer_of[value] = memory_.buffer_of[root] =
      memory_.add_buffer(*graph_.value_devices[value], draft_.writers[root],
                         {byte_count(memory_.types[value]), first, draft_.last_use[root]});
  return TENON_WRITE_TO;
}

// An output may reuse the memory of an input that it is declared in place with, that no later step
// reads, and that belongs to the plan. The first inputs of a backward node are the gradients of its
// origin's outputs. A worker process may do so only for memory that it wrote itself; otherwise a
// copy would be needed.
bool BufferAssignment::reuse_input(std::uint32_t step, std::uint32_t output) {
  const auto& node = model_.nodes[memory_.order[step]];
  const auto* worker = graph_.worker_of(memory_.order[step]);
  const auto& info = *graph_.binding().nodes[memory_.order[step]].info;
  const auto* edges = model_.edges.data() + node.first_edge;
  const auto value = node.first_output + output;
  for (const auto& [input, target] :
       node.pass == Pass::backward ? info.backward_inplace : info.inplace) {
    const auto i = static_cast<std::uint32_t>(input);
    if (static_cast<std::uint32_t>(target) != output || i >= node.input_count || edges[i] == none)
      continue;
    const auto source = memory_.root[edges[i]];
    if (memory_.buffer_of[source] == none || draft_.last_use[source] != step ||
        std::count(edges, edges + node.input_count, edges[i]) != 1)
      continue;
    const bool here =
        worker == nullptr && graph_.worker_of(model_.values[source].producer) == nullptr;
    if (!here && (draft_.writers[source] == nullptr ||
                  draft_.writers[source] != draft_.writers[memory_.root[value]]))
      continue;
    const auto &from = memory_.types[source], &to = memory_.types[value];
    if (from.dtype != to.dtype || from.layout != to.layout || byte_count(from) != byte_count(to))
      continue;
    if (info.elementwise && !same_dims(from, to)) continue;
    auto& buffer = memory_.buffers[memory_.buffer_of[source]];
    const auto* earlier = memory_.buffer_of.data() + node.first_output;
    if (std::count(earlier, earlier + output, memory_.buffer_of[source]) != 0)
      continue;  // taken by another output
    memory_.buffer_of[value] = memory_.buffer_of[memory_.root[value]] = memory_.buffer_of[source];
    buffer.last = draft_.last_use[memory_.root[value]];
    return true;
  }
  return false;
}

}  // namespace

void assign_buffers(PlanDraft& draft) {
  BufferAssignment(draft).run();
}

}  // namespace tenon
