// Which values of a plan are channels-last, and where they are reordered.
#pragma once
#include <vector>

#include "plan/lowering.hpp"

namespace tenon {

/// Chooses for the whole graph: nodes that prefer channels-last get it, and those that only take it follow where that leaves fewer bytes to
/// reorder. Sets tenon_type::layout of what is channels-last, and adds
/// nodes `x.channels_last` and `x.plain` where neighbours differ. Inputs, variables, states, constants and outputs of the graph stay plain,
/// and so does everything on GPUs, in worker processes, and in graphs with gradients. `graph` stays as it is where no node prefers the
/// layout.
void choose_layouts(Lowered& graph, const Kernels& kernels, std::vector<tenon_type>& types);

}  // namespace tenon
