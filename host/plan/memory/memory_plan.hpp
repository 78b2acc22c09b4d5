// Which nodes run, which values share memory, how long each piece of it is needed, and where it lies.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/lowering.hpp"
#include "plan/memory/fused_sums.hpp"
#include "plan/memory/placement.hpp"

namespace tenon {

/// What a plan takes of one device's memory; and on the CPU, for each isolated plugin, memory that its worker process writes where it lies.
struct DeviceArena {
  Device* device;
  const IsolatedPlugin* writer;  ///< null: this process writes here
  MemoryPlacement placement;     ///< offsets: of its own buffers, one after the other
};

/// Steps are positions in `order`. Sparse values have no buffer: their kernels allocate them when they run.
struct MemoryPlan {
  /// An output of the graph that a step writes: its entry in writes, and whether it can be made add.
  struct OutputWrite {
    std::size_t write;
    bool adds;
  };

  std::vector<NodeId> order;
  std::vector<tenon_type> types;
  std::vector<std::uint32_t> readers;                         // of each value: steps that read it, outputs of the graph, updates
  std::vector<ValueId> root;                                  // the value in whose memory it lies; mostly its own
  std::unordered_map<ValueId, std::vector<ValueId>> members;  // of roots that are outputs of the graph: the values in their memory
  std::vector<FusedSum> fused_sums;                           // they have no steps
  std::unordered_map<ValueId, ValueId> updated;               // value -> variable whose memory it is written to
  std::vector<std::pair<ValueId, ValueId>> copies;            // (variable, value) to copy after a run: updates that are not made in place
  std::unordered_map<ValueId, OutputWrite> output_writes;
  std::vector<std::uint32_t> buffer_of;         // of each value; none: in no arena
  std::vector<std::uint32_t> workspace_buffer;  // of each step; none: it needs no scratch
  std::vector<std::uint64_t> workspace_bytes;
  std::vector<Buffer> buffers;
  std::vector<std::uint32_t> arena_of;     // of each buffer
  std::vector<std::int64_t> offsets;       // of each buffer, in its arena
  std::vector<DeviceArena> arenas;         // the CPU's first, then in the order in which they are needed
  std::vector<std::uint8_t> writes;        // enum tenon_write of each output of each step, in order
  std::vector<std::uint32_t> first_write;  // of each step, in writes
  bool isolates = false;                   // some steps run in worker processes, which read the CPU's arena

  /// Adds a buffer to the arena of that device and writer, and the arena if it is missing. Returns the buffer's number.
  std::uint32_t add_buffer(Device& device, const IsolatedPlugin* writer, const Buffer& buffer);
  /// Of a value in an arena; -1: it lives elsewhere (inputs, variables, outputs).
  std::int64_t offset_of(ValueId value) const;
  /// Of all arenas together.
  std::int64_t bytes() const;
  std::int64_t lower_bound() const;
};

inline bool same_dims(const tenon_type& left, const tenon_type& right) {
  return left.rank == right.rank && std::equal(left.dims, left.dims + left.rank, right.dims);
}

}  // namespace tenon
