// Inputs for a graph from files, or made up by shape.
#pragma once
#include <map>
#include <string>
#include <tenon/graph.hpp>
#include <tenon/session.hpp>

#include "cli/command.hpp"
#include "graph/model.hpp"

namespace tenon::cli {

/// What --input NAME=FILE (.npy, .svm, .npz with NAME in it or a single member; see read_rows() for some of its rows), --shape NAME=DIMS
/// and --seed ask for, one tensor for each of these inputs of the graph. Inputs without a file are random: floats uniform in [-1, 1), whole
/// numbers 0 to 9; dimensions nobody gives are 1, told on stderr. Throws Failure for names the graph does not have (near ones in the hint).
NamedTensors feed(const Graph& graph, const Arguments& arguments, const std::vector<ValueId>& inputs);
/// The same for all of the graph's inputs.
NamedTensors feed(const Graph& graph, const Arguments& arguments);

/// The array of a .npy file, of a .npz file the member with the input's name or the only one, or what svmlight_input.hpp says. `type`: what
/// the graph declares. Throws Failure.
Tensor read_input(const std::string& name, const std::string& path, const tenon_type& type);

/// Throws Failure (usage) for a name that is no input of the graph (near ones in the hint).
void check_input_names(const GraphModel& model, const std::map<std::string, std::string>& given);

/// The options that feed() reads, for the commands' descriptions.
std::vector<Option> feed_options();

/// Which dtype a .npy of this dtype becomes for an input of another: numpy's own rule for lossless casts (uint8 -> float32).
Tensor convert_for(const std::string& name, const Tensor& tensor, DType wanted);

/// The same, and in the storage that the graph declares for the input, where it declares a sparse one: sessions take sparse tensors
/// anywhere.
Tensor fitted(const std::string& name, const Tensor& tensor, const tenon_type& type);

}  // namespace tenon::cli
