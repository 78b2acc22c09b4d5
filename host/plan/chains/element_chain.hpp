// Neighbouring element-wise nodes as one step: each block of elements goes through all of them while it is in the processor's cache.
#pragma once
#include <tenon/abi.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// Where a value of a chain is, as seen from one block of elements.
struct ChainPlace {
  enum class Where : std::uint8_t { input, output, scratch };
  /// The elements of the block, a row that all rows of the chain share, or one element for all.
  enum class Extent : std::uint8_t { whole, row, single };
  Where where = Where::scratch;
  Extent extent = Extent::whole;
  std::uint8_t dtype = TENON_F32;
  std::uint32_t index = 0;  ///< which of the chain's inputs or outputs, or of its slots of scratch
};

/// How the elements are cut into blocks. Their borders lie at multiples of 64 elements, so that the loops of kernels, which take as many at
/// a time, work on the same groups of elements as without chains.
struct ChainBlocks {
  std::int64_t elements = 0;  ///< of the whole
  std::int64_t row = 0;       ///< elements of a row; 0: no value of the chain is a row
  std::int64_t size = 0;      ///< elements of a block; less than a row: blocks are parts of rows, else whole rows
  std::int64_t per_row() const { return row > size ? (row + size - 1) / size : 1; }
  std::int64_t count() const { return row > size ? elements / row * per_row() : (elements + size - 1) / size; }
};

/// Plain data. The node that runs it has an input for each value from outside that it reads, and an output for each of its values that
/// others read; values that nobody else reads lie in scratch memory, block by block.
struct ElementChain {
  std::vector<NodeId> nodes;  ///< in the order in which they are called; the graph's
  std::vector<ChainPlace> places;
  std::vector<std::uint32_t> operands;  ///< for each node the places of what it reads, then of what it writes; none: nothing is there
  std::vector<std::uint8_t> writes;     ///< enum tenon_write of each output of each node
  std::vector<bool> adds;               ///< of each output of the chain: it can be added to what is there
  ChainBlocks blocks;
  std::uint32_t scratch_slots = 0;
  std::uint64_t slot_bytes = 0;
  int threads = 1;  ///< as many have scratch memory

  std::uint64_t bytes_of_thread() const { return scratch_slots * slot_bytes; }
  std::uint64_t scratch_bytes() const { return static_cast<std::uint64_t>(threads) * bytes_of_thread(); }
};

}  // namespace tenon
