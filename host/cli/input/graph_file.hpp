// Graph files that commands take as arguments, and options for how sessions run them.
#pragma once
#include <tenon/host/graph.hpp>
#include <tenon/host/optimize.hpp>
#include <vector>

#include "cli/command.hpp"

namespace tenon::cli {

/// Loads a .tenon file, a graph.json, an ONNX model, or a pack trusted by --trust or by the user's
/// list; the content decides which it is. Throws Failure.
Graph load_graph(Context& context, const std::string& path, const LoadOptions& options = {});

/// Plans a run if the shapes of all inputs are known, without running anything. Throws Failure if a
/// run would be refused.
void plan_if_shapes_known(const Context& context, const Graph& graph);

/// Describes GRAPH in the commands' help.
inline constexpr const char* graph_doc = "a .tenon, graph.json or .onnx file, or a pack";

/// Options of read_optimize(), for the commands' descriptions.
std::vector<Option> optimize_options();
/// Throws Failure (usage) if both options are given.
Optimize read_optimize(const Arguments& arguments);

/// --precision; f32 by default.
Option precision_option();
DType read_precision(const Arguments& arguments);

}  // namespace tenon::cli
