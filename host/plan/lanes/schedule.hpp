// What a plan runs at once: its steps in lanes, and the lanes cut into tasks. Plain data.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace tenon {

struct Plan;

/// All vectors are empty where the steps run one after the other.
struct LaneSchedule {
  std::uint32_t lanes = 0;
  std::vector<std::uint32_t> lane_of;             ///< of each step
  std::vector<std::uint32_t> steps;               ///< by task, and in the order of the plan within each
  std::vector<std::uint32_t> first;               ///< of each task, in steps; one more at the end
  std::vector<std::vector<std::uint32_t>> after;  ///< of each task: those with smaller numbers that it waits for
  std::int64_t alone = 0, together = 0;           ///< nanoseconds of a run, as expected: one step after the other, and in lanes
  std::shared_ptr<const Plan> alone_plan;         ///< whose steps run one after the other

  std::uint32_t task_count() const { return static_cast<std::uint32_t>(after.size()); }
};

}  // namespace tenon
