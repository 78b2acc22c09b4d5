// Orders in which buffers are placed.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/memory/placement.hpp"

namespace tenon {

/// By first or last step.
std::vector<std::uint32_t> order_by(std::uint32_t Buffer::*step, std::span<const Buffer> buffers);

/// Those of Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020: the largest buffer first; and those alive
/// at the step with the most bytes alive first, the largest of them before the others.
std::vector<std::uint32_t> order_by_size(std::span<const Buffer> buffers);
std::vector<std::uint32_t> order_by_breadth(std::span<const Buffer> buffers);

}  // namespace tenon
