// First values of variables and states that have none.
#pragma once
#include <cstdint>

#include "graph/model.hpp"

namespace tenon {

/// Gives values to every variable and state without a tensor whose type is known, drawn from the seed and the value's name, so that neither
/// order nor threads matter. Automatic: xavier for matrices and higher, zeros for vectors; states get zeros. Those whose shape is not known
/// yet are left as they are.
void initialize(GraphModel& model, std::uint64_t seed);

}  // namespace tenon
