// Where the values of a chain lie: which come from outside, which others read, and which lie in scratch memory.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "graph/binding.hpp"
#include "plan/chains/find_chains.hpp"

namespace tenon {

struct ChainValues {
  ElementChain chain;
  std::vector<ValueId> inputs, outputs;      ///< of the node that runs it
  std::vector<std::pair<int, int>> inplace;  ///< (input, output) that may be one piece of memory
};

/// `readers`: of each value, as Readers::all.
ChainValues chain_values(const GraphModel& model, const Binding& binding, std::span<const tenon_type> types,
                         std::span<const std::uint32_t> readers, const FoundChain& found);

}  // namespace tenon
