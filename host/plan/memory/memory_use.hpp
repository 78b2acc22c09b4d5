// What lies in a plan's arenas, and from when to when.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "plan/memory/memory_plan.hpp"

namespace tenon {

/// A value, or the workspace of a step.
struct MemoryUse {
  std::string name;         ///< of the value, or of the workspace's node
  std::string in_place_of;  ///< the value whose memory it takes over when it comes to life; empty: of none
  std::uint32_t arena = 0;  ///< of the plan's
  std::int64_t bytes = 0, offset = 0;
  std::uint32_t first = 0, last = 0;  ///< steps, both included
  bool workspace = false;
};

/// By first step, then by offset. Inputs, variables and what is given out lie elsewhere and are not among them; neither is what is added to
/// a sum where that lies.
std::vector<MemoryUse> memory_uses(const GraphModel& model, const MemoryPlan& plan);

/// A table of them, then steps, bytes, lower bound, ratio and strategy. The device is told where there are several.
std::string describe(const MemoryPlan& plan, const std::vector<MemoryUse>& uses);

/// Bytes, lower bound, ratio and strategy, a line for each device, the last without its end, as every description of a plan ends.
std::string describe(const MemoryPlan& plan);

}  // namespace tenon
