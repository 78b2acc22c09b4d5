// A plan as people read it.
#pragma once
#include <string>

#include "plan/plan.hpp"

namespace tenon {

/// One line a step (node, operator, device, outputs with storage, dtype, shape and place, workspace), then bytes, lower bound and ratio.
std::string describe(const Plan& plan);

}  // namespace tenon
