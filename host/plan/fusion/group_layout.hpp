// Assigns memory to the values of a fused elementwise group: inputs, outputs, or scratch.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "graph/binding.hpp"
#include "plan/fusion/find_groups.hpp"

namespace tenon {

struct GroupLayout {
  FusedGroup group;
  std::vector<ValueId> inputs, outputs;      ///< of the fused node
  std::vector<std::pair<int, int>> inplace;  ///< (input, output) pairs that may share memory
};

/// `readers`: see Readers::all.
GroupLayout group_layout(const GraphModel& model, const Binding& binding,
                         std::span<const tenon_type> types, std::span<const std::uint32_t> readers,
                         const FoundGroup& found);

}  // namespace tenon
