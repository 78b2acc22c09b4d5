// Orders in which blocks are placed.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/placement.hpp"

namespace tenon {

/// By first or last step.
std::vector<std::uint32_t> order_by(std::uint32_t Block::*step, std::span<const Block> blocks);

/// Those of Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020: the largest block first; and those alive
/// at the step with the most bytes alive first, the largest of them before the others.
std::vector<std::uint32_t> order_by_size(std::span<const Block> blocks);
std::vector<std::uint32_t> order_by_breadth(std::span<const Block> blocks);

}  // namespace tenon
