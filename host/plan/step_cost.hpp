// What a step reads, writes and computes, for profiles.
#pragma once
#include <vector>

#include "plan/plan.hpp"

namespace tenon {

struct StepCost {
  double bytes = 0;  ///< of dense inputs, each once, and of dense outputs; what write mode add reads is not counted
  double flops = 0;  ///< as the operator says; 0: it does not
};

/// Of each step. Throws Failure for an operator that fails to say it.
std::vector<StepCost> step_costs(const Plan& plan, const Kernels& kernels);

}  // namespace tenon
