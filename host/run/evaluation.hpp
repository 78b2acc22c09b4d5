// Evaluates nodes at planning time whose results follow from shapes and known elements.
#pragma once
#include "device/threads.hpp"
#include "graph/inference/inference.hpp"
#include "graph/snapshot.hpp"

namespace tenon {

/// For Inference: runs single nodes of the graph on the CPU. Failures name the node.
Evaluate evaluation(std::shared_ptr<const GraphSnapshot> graph, Threads& threads);

}  // namespace tenon
