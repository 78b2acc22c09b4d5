// What several commands do with graph files.
#pragma once
#include <map>
#include <string>
#include <tenon/host/graph.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// Whether the text names a graph file: it ends in .tenon or .json.
bool is_graph_name(const std::string& text);

/// `--no-verify`, and what it asks for.
Option no_verify_option();
LoadOptions load_options(const Arguments& arguments);

/// Prints a graph for people, or as JSON where that was asked for. Needs no plugin for a .tenon file.
int show_graph(const Context& context, const Graph& graph);

/// `8x64`, `8,64` or `scalar`. Throws Failure (usage).
Shape parse_shape(const std::string& text);

}  // namespace tenon::cli
