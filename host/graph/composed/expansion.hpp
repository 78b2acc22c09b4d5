// Expansion of composed operators.
#pragma once
#include <memory>

#include "device/device.hpp"
#include "graph/snapshot.hpp"

namespace tenon {

/// Replaces composed operators that have no kernel for their node's device, or else for `device`,
/// by their nodes. Takes and returns a bound, complete graph, the same one if there is nothing to
/// expand. Values keep their numbers, nodes do not. Throws Failure that names the node.
std::shared_ptr<const GraphSnapshot> expanded(std::shared_ptr<const GraphSnapshot> graph,
                                              const Device& device);

}  // namespace tenon
