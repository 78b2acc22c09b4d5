// The steps of a plan.
#pragma once
#include <tenon/abi.h>

#include "io/crash/active_call.hpp"

namespace tenon {

/// One call. Running a plan is a loop over these and nothing else.
struct Step {
  tenon_kernel_function function;
  void* instance;
  tenon_call* call;
  const ActiveCall* running = nullptr;  ///< reported as running during the call
};

}  // namespace tenon
