// The steps of a plan.
#pragma once
#include <tenon/abi.h>

#include "io/crash/active_call.hpp"

namespace tenon {

/// One kernel call. Running a plan is a loop over its steps.
struct Step {
  tenon_kernel_function function;
  void* instance;
  tenon_call* call;
  const ActiveCall* running = nullptr;  ///< what crash reports name as running during the call
};

}  // namespace tenon
