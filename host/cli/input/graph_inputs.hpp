// Inputs for a graph or for one operator, from files or random.
#pragma once
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>

#include "cli/command.hpp"

namespace tenon::cli {

/// Returns one tensor for each of the inputs, according to --input NAME=FILE (see load_input()),
/// --shape NAME=DIMS and --seed. Inputs without a file are random: floats uniform in [-1, 1),
/// integers 0 to 9; unspecified dimensions are 1. Random inputs are reported on stderr. Throws
/// Failure for names that the graph does not have, with similar names in the hint.
NamedTensors read_inputs(const Graph& graph, const Arguments& arguments,
                         const std::vector<ValueInfo>& inputs, bool widen = true);
/// Like the above, for all inputs of the graph.
NamedTensors read_inputs(const Graph& graph, const Arguments& arguments);

/// Options of read_inputs(), for the commands' descriptions.
std::vector<Option> input_options();
Option density_option();

/// Uses --seed and, for sparse tensors, --density; `number` makes the inputs of one command differ.
/// `categories`: the number of names that the elements index; 0: any numbers. Throws Failure
/// (usage).
Tensor random_input(const Arguments& arguments, DType dtype, const Shape& shape, Storage storage,
                    std::uint64_t number, std::size_t categories = 0);

/// Returns the examples for these inputs of the graph, from the repeated option NAME=FILE. Throws
/// Failure (usage) for unknown and missing inputs, and for rows out of range.
NamedTensors read_dataset(const Graph& graph, const Arguments& arguments, const std::string& option,
                          const std::vector<std::string>& inputs);
/// Like the above, for all inputs of the graph.
NamedTensors read_dataset(const Graph& graph, const Arguments& arguments,
                          const std::string& option);

/// The option --input NAME=FILE or NAME=random:SHAPE[:DTYPE[:STORAGE]].
Option call_input_option();
/// Returns the inputs by name. Throws Failure (usage) for an invalid shape, dtype or storage, and
/// whatever load_array() throws.
NamedTensors read_call_inputs(const Arguments& arguments);

}  // namespace tenon::cli
