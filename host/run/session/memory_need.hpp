// Whether there is memory for a plan, before any of it is taken.
#pragma once
#include <cstdint>
#include <tenon/host/session.hpp>

#include "run/execution/arenas.hpp"

namespace tenon {

/// Throws Failure (failed) with the bytes, what leaves no more, and the largest tensor, where the CPU's arena, larger than the present one,
/// the outputs without destinations and `kept` bytes of kernels take more than available_memory(limit).
void require_memory(const Plan& plan, const Arenas& present, const Destinations& destinations, std::uint64_t kept, std::uint64_t limit);
/// Whether it would not throw.
bool has_memory(const Plan& plan, const Arenas& present, const Destinations& destinations, std::uint64_t kept, std::uint64_t limit);

}  // namespace tenon
