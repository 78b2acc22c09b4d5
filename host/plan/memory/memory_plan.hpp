// Memory of a plan: execution order, buffers with their lifetimes and offsets, and the values that
// share them.
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

/// Memory of a plan on one device. On the CPU, each isolated plugin has a further arena, which its
/// worker process writes directly.
struct DeviceArena {
  Device* device;
  const IsolatedPlugin* writer;  ///< null: written by this process
  MemoryPlacement placement;     ///< offsets of the arena's own buffers, in order
};

/// Steps are indices into `order`. Sparse values have no buffer: their kernels allocate them at run
/// time.
struct MemoryPlan {
  /// A graph output that a step writes: its index in `writes`, and whether it can be accumulated.
  struct OutputWrite {
    std::size_t write;
    bool adds;
  };

  std::vector<NodeId> order;
  std::vector<tenon_type> types;
  std::vector<std::uint32_t> readers;  // of each value: reading steps, graph outputs and updates
  // of each value: the value whose memory it uses, usually itself
  std::vector<ValueId> root;
  std::unordered_map<ValueId, std::vector<ValueId>>
      members;                       // roots that are graph outputs -> values in their memory
  std::vector<FusedSum> fused_sums;  // they have no steps
  std::unordered_map<ValueId, ValueId> updated;  // value -> variable whose memory it is written to
  std::vector<std::pair<ValueId, ValueId>>
      copies;  // (variable, value) to copy after a run: updates not made in place
  std::unordered_map<ValueId, OutputWrite> output_writes;
  std::vector<std::uint32_t> buffer_of;         // of each value; none: not in an arena
  std::vector<std::uint32_t> workspace_buffer;  // of each step; none: no workspace
  std::vector<std::uint64_t> workspace_bytes;
  std::vector<Buffer> buffers;
  std::vector<std::uint32_t> arena_of;     // of each buffer
  std::vector<std::int64_t> offsets;       // of each buffer, in its arena
  std::vector<DeviceArena> arenas;         // the CPU's first, then in order of first use
  std::vector<std::uint8_t> writes;        // enum tenon_write of each output of each step, in order
  std::vector<std::uint32_t> first_write;  // of each step, in writes
  bool isolates = false;  // some steps run in worker processes, which read the CPU's arena

  /// Adds a buffer to the arena of this device and writer, creating the arena if necessary. Returns
  /// the buffer's index.
  std::uint32_t add_buffer(Device& device, const IsolatedPlugin* writer, const Buffer& buffer);
  /// Returns the value's offset in its arena; -1 if it is not in one (inputs, variables, outputs).
  std::int64_t offset_of(ValueId value) const;
  /// Total over all arenas.
  std::int64_t bytes() const;
  std::int64_t lower_bound() const;
};

inline bool same_dims(const tenon_type& left, const tenon_type& right) {
  return left.rank == right.rank && std::equal(left.dims, left.dims + left.rank, right.dims);
}

}  // namespace tenon
