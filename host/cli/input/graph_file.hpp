// Graphs from the files that commands are given.
#pragma once
#include <tenon/host/graph.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// A .tenon file, a graph.json, an ONNX model, or a pack that --trust or the user's list names: what is in the file decides. Throws
/// Failure.
Graph load_graph(Context& context, const std::string& path, const LoadOptions& options = {});

/// Plans a run if the shapes of all inputs are known; nothing runs. Throws Failure for what a run would refuse.
void plan_if_known(const Context& context, const Graph& graph);

/// What GRAPH is, for the commands' descriptions.
inline constexpr const char* graph_doc = "a .tenon, graph.json or .onnx file, or a pack";

}  // namespace tenon::cli
