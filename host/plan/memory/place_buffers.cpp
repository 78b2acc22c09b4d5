#include "plan/passes.hpp"

namespace tenon {
namespace {

// Sizes come from shapes and kernels and may be arbitrarily large.
void require_sum(const std::vector<Buffer>& buffers) {
  std::int64_t sum = 0;
  for (const auto& buffer : buffers)
    if (buffer.bytes < 0 || __builtin_add_overflow(sum, buffer.bytes, &sum) || sum > INT64_MAX / 2)
      throw Failure(FailureKind::failed,
                    "the values and workspaces of the graph need more than memory can hold");
}

}  // namespace

void place_buffers(PlanDraft& draft) {
  auto& memory = draft.memory();
  require_sum(memory.buffers);
  memory.offsets.resize(memory.buffers.size());
  for (std::uint32_t arena = 0; arena < memory.arenas.size(); ++arena) {
    std::vector<Buffer> buffers;
    std::vector<std::uint32_t> ids;
    for (std::uint32_t id = 0; id < memory.buffers.size(); ++id) {
      if (memory.arena_of[id] != arena) continue;
      buffers.push_back(memory.buffers[id]);
      ids.push_back(id);
    }
    auto& placement = memory.arenas[arena].placement = place(buffers);
    for (std::size_t i = 0; i < ids.size(); ++i) memory.offsets[ids[i]] = placement.offsets[i];
  }
}

}  // namespace tenon
