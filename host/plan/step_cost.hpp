// Memory traffic and operations of steps, for profiles.
#pragma once
#include <vector>

#include "plan/plan.hpp"

namespace tenon {

struct StepCost {
  double bytes = 0;  ///< dense inputs, each once, plus dense outputs; reads of accumulating writes
                     ///< are not counted
  double flops = 0;  ///< as the operator reports; 0: not reported
};

/// Returns the cost of each step. Throws Failure if an operator fails to report it.
std::vector<StepCost> step_costs(const Plan& plan, const Kernels& kernels);

}  // namespace tenon
