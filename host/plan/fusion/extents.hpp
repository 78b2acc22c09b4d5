// Broadcasting of values in fused elementwise groups, and the partition into blocks.
#pragma once
#include <optional>

#include "plan/fusion/fused_group.hpp"

namespace tenon {

/// Returns how nodes whose outputs have the shape `whole` read a value: element by element, as one
/// repeated row (the trailing dimensions of `whole`), or as a single element. Nullopt for other
/// broadcasts, and if the layouts differ.
std::optional<GroupTensor::Extent> extent_in(const tenon_type& type, const tenon_type& whole);

/// `row`: elements of a row, or 0 if there are no rows. Nullopt if rows fit into no block whose
/// boundaries are multiples of 64 elements.
std::optional<GroupBlocks> blocks_of(std::int64_t elements, std::int64_t row);

}  // namespace tenon
