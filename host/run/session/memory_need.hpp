// Checks before allocation whether a plan fits into memory.
#pragma once
#include <cstdint>
#include <tenon/host/session.hpp>

#include "run/execution/arenas.hpp"

namespace tenon {

/// Throws Failure (failed) if more than available_memory(limit) is needed for the growth of the
/// CPU's arena, outputs without destinations, and `packed` bytes of packed constants, or more than
/// a GPU has for the growth of its arena. The message has the bytes, the limit and, on the CPU, the
/// largest tensor.
void require_memory(const Plan& plan, const Arenas& present, const Destinations& destinations,
                    std::uint64_t packed, std::uint64_t limit);
/// Returns whether there is memory for spare space in the arenas, too.
bool has_spare_memory(const Plan& plan, const Arenas& present, const Destinations& destinations,
                      std::uint64_t packed, std::uint64_t limit);

}  // namespace tenon
