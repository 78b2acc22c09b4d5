// Where the values of a plan in lanes lie.
#pragma once
#include "plan/lanes/step_clocks.hpp"

namespace tenon {

/// Places the buffers of `memory` anew. What one lane alone uses lies in memory of that lane, and is used again there; what several use
/// lies where everything that used the place before has ended for certain. A step that took over the memory of a value which others may
/// still read gets memory of its own.
void place_in_lanes(const Plan& plan, const Lanes& lanes, const StepClocks& clocks, MemoryPlan& memory);

}  // namespace tenon
