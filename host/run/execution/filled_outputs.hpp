// Finds what a kernel does not write: outputs are filled before its call, and looked at after it.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <optional>

#include "plan/plan.hpp"

namespace tenon {

/// Detaches outputs that the kernel of a step allocates from the memory of the last run, which may be the caller's by now.
void forget_allocated(const Plan& plan, std::size_t step, const tenon_call& call);

/// Fills the workspace and the dense outputs that the call is to overwrite, all on the CPU: with NaN, or with integers that are unlikely as
/// results. Of a backward call the outputs are the inputs' gradients.
void fill_outputs(const tenon_call& call);

struct UnwrittenElement {
  std::uint32_t output;
  std::int64_t element;  ///< of the contiguous output
};

/// The first that is as fill_outputs() left it. Of types of one byte, where any value is a likely result, the first of eight such in a row.
std::optional<UnwrittenElement> find_unwritten(const tenon_call& call);

}  // namespace tenon
