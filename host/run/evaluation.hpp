// Nodes whose results follow from shapes and from elements that are known, computed while a graph is planned.
#pragma once
#include "device/threads.hpp"
#include "graph/inference.hpp"
#include "graph/snapshot.hpp"

namespace tenon {

/// For Inference: runs nodes of the graph on the CPU, each as a call of its own. Failures name the node.
Evaluate evaluation(std::shared_ptr<const GraphSnapshot> graph, Threads& threads);

}  // namespace tenon
