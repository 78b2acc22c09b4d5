// A plan whose steps run at once where they can.
#pragma once
#include <memory>

#include "plan/lanes/lanes.hpp"

namespace tenon {

struct LaneRequest {
  int threads = 1;
  bool always = false;  ///< also where it does not pay
};

/// The plan in lanes: with a schedule, and memory in which lanes do not disturb each other. The same kernels compute the same values; some
/// have memory of their own where they took over an input's. Null where, by these costs of the steps, that would save less than a
/// twentieth of a run, or takes over (1 + threads) times the plan's memory and 16 MiB. Takes the plan's own time again.
std::shared_ptr<Plan> in_lanes(const Plan& plan, const StepOrder& order, std::span<const StepTime> costs, const LaneRequest& request);

}  // namespace tenon
