// Inputs for a graph from files, or made up by shape.
#pragma once
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// What --input NAME=FILE (see load_input()), --shape NAME=DIMS and --seed ask for, one tensor for each of these inputs of the graph.
/// Inputs without a file are random: floats uniform in [-1, 1), whole numbers 0 to 9; dimensions nobody gives are 1, told on stderr. Throws
/// Failure for names the graph does not have (near ones in the hint).
NamedTensors read_inputs(const Graph& graph, const Arguments& arguments, const std::vector<ValueInfo>& inputs, bool widen = true);
/// The same for all of the graph's inputs.
NamedTensors read_inputs(const Graph& graph, const Arguments& arguments);

/// The options that read_inputs() reads, for the commands' descriptions.
std::vector<Option> input_options();
Option density_option();

/// As --seed and, for sparse ones, --density say; `number` tells the inputs of one command apart. Throws Failure (usage).
Tensor random_input(const Arguments& arguments, DType dtype, const Shape& shape, Storage storage, std::uint64_t number);

/// Examples for training: what the repeated option NAME=FILE gives for these inputs of the graph. Throws Failure (usage) for unknown and
/// missing inputs, and for rows that are not there.
NamedTensors read_dataset(const Graph& graph, const Arguments& arguments, const std::string& option,
                          const std::vector<std::string>& inputs);
/// The same for all of the graph's inputs.
NamedTensors read_dataset(const Graph& graph, const Arguments& arguments, const std::string& option);

}  // namespace tenon::cli
