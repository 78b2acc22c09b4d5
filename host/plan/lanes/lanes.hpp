// Which steps of a plan a thread runs one after the other.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/lanes/step_order.hpp"

namespace tenon {

/// What a step takes, in nanoseconds: where nothing else runs, so that all threads may help it; and on one thread, everything counted.
struct StepTime {
  std::int64_t alone = 0, work = 0;
};

/// Steps of one lane run in their order, whoever runs them; those of different lanes at once, unless one follows the other.
struct Lanes {
  std::vector<std::uint32_t> lane_of;  ///< of each step
  std::uint32_t count = 0;
  std::int64_t alone = 0, together = 0;  ///< nanoseconds of a run, as expected: one step after the other, and in lanes
};

/// What it costs to have another thread go on.
inline constexpr std::int64_t handover = 3000;

/// Chains stay together. Each goes, in the order of the plan, to the thread that would end it first; the threads' chains are dealt to
/// `lanes_each` lanes, so that threads can take over from each other. O(steps * threads).
Lanes assign_lanes(const StepOrder& order, std::span<const StepTime> costs, int threads, int lanes_each);

}  // namespace tenon
