// The two graphs of a training step: gradients of a batch, then the update of the variables from them. They are apart so that gradients of
// several batches can be summed, and looked at before they change anything.
#pragma once
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/trainer.hpp>
#include <vector>

namespace tenon {

/// A variable that is trained, and what belongs to it.
struct TrainedVariable {
  std::string variable;
  std::string gradient;  // output of the gradient graph, input of the update graph; several variables may have the same
  std::string node;      // its optimizer, in the update graph
};

inline constexpr const char* rate_input = "learning rate";

struct GradientGraph {
  Graph graph;
  std::vector<TrainedVariable> trained;
  std::string weight_input;  // a batch's share in its step, where there are several batches in one; of the loss's type
};

/// An output's value, or one that Graph::find knows. Throws Failure (usage) with near names; `what` is it for.
Value named_value(const Graph& graph, const std::string& name, const char* what);

/// Throws Failure (usage) where the value is not one floating number; `name` is what the user calls it.
void require_loss(const Graph& graph, Value loss, const std::string& name);

/// Throws Failure (usage) where only one of the two is named, or the label is no input of the graph.
void check_accuracy(const Graph& graph, const std::string& scores, const std::string& label);

/// Throws Failure (usage) unless there are data for each input of the graph, of its dtype, and for nothing else.
void check_data(const Graph& graph, const NamedTensors& data);

/// From an initialized graph and a batch, whose shapes alone count. Variables that the loss does not depend on are left out. Throws Failure
/// where none is left.
GradientGraph make_gradient_graph(const Graph& forward, const NamedTensors& batch, const TrainerOptions& options);

Graph make_update_graph(const Graph& forward, const std::vector<TrainedVariable>& trained, const TrainerOptions& options);

/// The states of an optimizer's node: the name its operator gives each, and its name in the graph.
std::vector<std::pair<std::string, std::string>> states_of(const Graph& update, const TrainedVariable& trained);

/// Its parameters as they are in force, defaults included.
Attributes parameters_of(const Graph& update, const TrainedVariable& trained);

}  // namespace tenon
