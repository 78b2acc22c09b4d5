// Graph files that commands take as arguments.
#pragma once
#include <tenon/host/graph.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// Loads a .tenon file, a graph.json, an ONNX model, or a pack trusted by --trust or by the user's
/// list; the content decides which it is. Throws Failure.
Graph load_graph(Context& context, const std::string& path, const LoadOptions& options = {});

/// Plans a run if the shapes of all inputs are known, without running anything. Throws Failure if a
/// run would be refused.
void plan_if_known(const Context& context, const Graph& graph);

/// Describes GRAPH in the commands' help.
inline constexpr const char* graph_doc = "a .tenon, graph.json or .onnx file, or a pack";

}  // namespace tenon::cli
