// Finds elements that a kernel leaves unwritten: outputs are filled before its call and checked
// after it.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <optional>

#include "plan/plan.hpp"

namespace tenon {

/// Detaches kernel-allocated outputs of a step from the memory of the last run, which the caller
/// may now own.
void detach_allocated(const Plan& plan, std::size_t step, const tenon_call& call);

/// Fills the workspace and the CPU's dense outputs that the call overwrites with NaN, or with
/// integers that are unlikely results. The outputs of a backward call are the inputs' gradients.
void fill_outputs(const tenon_call& call);

struct UnwrittenElement {
  std::uint32_t output;
  std::int64_t element;  ///< index in the contiguous output
};

/// The first element that still has its fill value. For one-byte types, where any value is a likely
/// result, the first of eight such elements in a row.
std::optional<UnwrittenElement> find_unwritten(const tenon_call& call);

}  // namespace tenon
