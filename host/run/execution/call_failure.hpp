// Converts exceptions of the host's own steps into errors of their calls.
#pragma once
#include <tenon/abi.h>

#include <cstdio>
#include <exception>

namespace tenon {

/// Returns the result of `work`; if it throws, sets the call's error and returns 1.
template <class Work>
std::int32_t failure_to_call(const tenon_call& call, Work&& work) {
  try {
    return work();
  } catch (const std::exception& failure) {
    call.error->kind = TENON_ERROR_FAILED;
    std::snprintf(call.error->text, call.error->capacity, "%s", failure.what());
    return 1;
  }
}

}  // namespace tenon
