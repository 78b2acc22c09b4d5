// Until version 0.3, the old path and the old names of <tenon/host/micro_batches.hpp>, which an
// installation has next to the SDK and a checkout has in host/include.
#pragma once
#if __has_include("host/micro_batches.hpp")
#include "host/micro_batches.hpp"
#else
#include "../../../host/include/tenon/host/micro_batches.hpp"
#endif

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// The old name of MicroBatchOwners.
using LaneOwners [[deprecated("use MicroBatchOwners")]] = MicroBatchOwners;

/// The old name of left_micro_batches().
[[deprecated("use left_micro_batches()")]] constexpr std::int64_t left_lanes(std::int64_t count) {
  return left_micro_batches(count);
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
