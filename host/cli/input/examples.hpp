// Examples for training, from files.
#pragma once
#include <string>
#include <tenon/graph.hpp>
#include <tenon/session.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// What the repeated option NAME=FILE gives for these inputs of the graph, each from a .npy or .npz file, of which FILE[BEGIN:END] takes
/// some rows. Throws Failure (usage) for unknown and missing inputs, and for rows that are not there.
NamedTensors read_examples(const Graph& graph, const Arguments& arguments, const std::string& option,
                           const std::vector<std::string>& inputs);
/// The same for all of the graph's inputs.
NamedTensors read_examples(const Graph& graph, const Arguments& arguments, const std::string& option);

}  // namespace tenon::cli
