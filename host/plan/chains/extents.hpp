// What a value is to a chain of element-wise nodes, and how the chain's elements are cut into blocks.
#pragma once
#include <optional>

#include "plan/chains/element_chain.hpp"

namespace tenon {

/// How a value of this shape is read by nodes whose outputs have the shape `whole`: element by element, as the same row again and again (it
/// has the last dimensions of the whole), or as one element. Nothing for any other broadcasting, nor where the layouts differ.
std::optional<ChainPlace::Extent> extent_in(const tenon_type& type, const tenon_type& whole);

/// For rows of so many elements; 0: there are none. Nothing where rows fit into no block whose borders are at multiples of 64 elements.
std::optional<ChainBlocks> blocks_of(std::int64_t elements, std::int64_t row);

}  // namespace tenon
