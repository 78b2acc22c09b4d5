// Whether there is memory for a plan, before any of it is taken.
#pragma once
#include <cstdint>
#include <tenon/host/session.hpp>

#include "run/execution/arenas.hpp"

namespace tenon {

/// Throws Failure (failed) with the bytes, what leaves no more, and the largest tensor, where the CPU's arena, larger than the present one,
/// and the outputs without destinations take more than available_memory(limit).
void require_memory(const Plan& plan, const Arenas& present, const Destinations& destinations, std::uint64_t limit);

}  // namespace tenon
