// Until version 0.4, the old names of MicroBatchOwners and left_micro_batches(), and the old path
// of <tenon/host/micro_batches.hpp>.
#pragma once
#include "detail/micro_batches.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// The old name of MicroBatchOwners.
using LaneOwners [[deprecated("use MicroBatchOwners; until 0.4")]] = MicroBatchOwners;

/// The old name of left_micro_batches().
[[deprecated("use left_micro_batches(); until 0.4")]] constexpr std::int64_t left_lanes(
    std::int64_t count) {
  return left_micro_batches(count);
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop
