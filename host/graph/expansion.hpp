// The graph that runs instead of one with composed operators.
#pragma once
#include <memory>

#include "device/device.hpp"
#include "graph/snapshot.hpp"

namespace tenon {

/// A graph that is bound and complete, in which the nodes stand that composed operators consist of: those that have no kernel for the
/// device that they run on, by themselves or on `device`. Values keep their numbers, nodes do not. The same graph where there is nothing
/// to do. Throws Failure that names the node.
std::shared_ptr<const GraphSnapshot> expanded(std::shared_ptr<const GraphSnapshot> graph, const Device& device);

}  // namespace tenon
