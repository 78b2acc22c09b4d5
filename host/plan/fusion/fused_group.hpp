// Fused elementwise groups: neighboring elementwise nodes that run as one step, block by block, so
// intermediate values stay in the cache.
#pragma once
#include <tenon/abi.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// The operand that holds a value of a group, relative to the current block.
struct GroupTensor {
  enum class Where : std::uint8_t { input, output, scratch };
  /// All elements of the block, one row that is repeated for every row of the group, or a single
  /// broadcast element.
  enum class Extent : std::uint8_t { whole, row, single };
  Where where = Where::scratch;
  Extent extent = Extent::whole;
  std::uint8_t dtype = TENON_F32;
  std::uint32_t index = 0;  ///< index of the group's input or output, or of its scratch slot
};

/// Partition of the elements into blocks. Block boundaries are multiples of 64 elements, so the
/// kernels' vectorized loops process the same groups of elements as without fusion.
struct GroupBlocks {
  std::int64_t elements = 0;  ///< total
  std::int64_t row = 0;       ///< elements of a row; 0: no value of the group is a row
  /// elements of a block; blocks divide rows if smaller than a row, else hold whole rows
  std::int64_t size = 0;
  std::int64_t per_row() const { return row > size ? (row + size - 1) / size : 1; }
  std::int64_t count() const {
    return row > size ? elements / row * per_row() : (elements + size - 1) / size;
  }
};

/// Plain data. The fused node has an input for each value from outside and an output for each value
/// that nodes outside read; other values live in scratch memory, block by block.
struct FusedGroup {
  std::vector<NodeId> nodes;  ///< nodes of the graph, in execution order
  std::vector<GroupTensor> tensors;
  /// For each node: indices in `tensors` of its inputs, then of its outputs; or none.
  std::vector<std::uint32_t> operands;
  std::vector<std::uint8_t> writes;  ///< enum tenon_write of each output of each node
  std::vector<bool> adds;  ///< for each output of the group: whether it can be accumulated
  GroupBlocks blocks;
  std::uint32_t scratch_slots = 0;
  std::uint64_t slot_bytes = 0;
  int threads = 1;  ///< number of threads with scratch memory

  std::uint64_t bytes_of_thread() const { return scratch_slots * slot_bytes; }
  std::uint64_t scratch_bytes() const {
    return static_cast<std::uint64_t>(threads) * bytes_of_thread();
  }
};

/// Returns how nodes whose outputs have the shape `whole` read a value: element by element, as one
/// repeated row (the trailing dimensions of `whole`), or as a single element. Nullopt for other
/// broadcasts, and if the layouts differ.
std::optional<GroupTensor::Extent> extent_in(const tenon_type& type, const tenon_type& whole);

/// `row`: elements of a row, or 0 if there are no rows. Nullopt if rows fit into no block whose
/// boundaries are multiples of 64 elements.
std::optional<GroupBlocks> blocks_of(std::int64_t elements, std::int64_t row);

}  // namespace tenon
