// Functions that several commands use for graph files.
#pragma once
#include <map>
#include <string>
#include <tenon/host/graph.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// Returns whether the text names a graph file, that is, ends in .tenon or .json.
bool is_graph_name(const std::string& text);

/// The option `--no-verify` and the load options it implies.
Option no_verify_option();
LoadOptions load_options(const Arguments& arguments);

/// Prints a graph as text, or as JSON with --json. Needs no plugins for a .tenon file.
int show_graph(const Context& context, const Graph& graph);

/// Parses `8x64`, `8,64` or `scalar`. Throws Failure (usage).
Shape parse_shape(const std::string& text);

}  // namespace tenon::cli
