// Orders in which buffers are placed.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/memory/placement.hpp"

namespace tenon {

/// Sorted by first or last step.
std::vector<std::uint32_t> order_by(std::uint32_t Buffer::*step, std::span<const Buffer> buffers);

/// Orders of Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020:
/// largest buffer first; and by breadth: buffers alive at the step with the most bytes alive first,
/// larger ones before smaller ones.
std::vector<std::uint32_t> order_by_size(std::span<const Buffer> buffers);
std::vector<std::uint32_t> order_by_breadth(std::span<const Buffer> buffers);

}  // namespace tenon
