// Failures in the host's own steps, as calls tell of them.
#pragma once
#include <tenon/abi.h>

#include <cstdio>
#include <exception>

namespace tenon {

/// What `work` gives; where it throws, 1, and the reason goes to the call's error.
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
