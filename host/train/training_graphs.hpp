// The two graphs of a training step: one computes the gradients of a batch, the other updates the
// variables. They are separate so that gradients of several batches can be summed, and checked
// before they change variables.
#pragma once
#include <string>
#include <tenon/host/graph.hpp>
#include <tenon/host/trainer.hpp>
#include <vector>

namespace tenon {

/// A trained variable and its names in the two graphs.
struct TrainedVariable {
  std::string variable;
  std::string gradient;  // output of the gradient graph, input of the update graph; may be shared
                         // by variables
  std::string node;      // its optimizer, in the update graph
};

inline constexpr const char* rate_input = "learning rate";

struct GradientGraph {
  Graph graph;
  std::vector<TrainedVariable> trained;
  std::string weight_input;  // a batch's share of its step, if a step has several batches; of the
                             // loss's type
};

/// The value of an output, or one that Graph::find() accepts. Throws Failure (usage) with similar
/// names; `what` is its purpose.
Value named_value(const Graph& graph, const std::string& name, const char* what);

/// Throws Failure (usage) unless the value is one floating-point number; `name` is the user's name
/// for it.
void require_loss(const Graph& graph, Value loss, const std::string& name);

/// Throws Failure (usage) if only one of the two is named, or the label is not an input of the
/// graph.
void check_accuracy(const Graph& graph, const std::string& scores, const std::string& label);

/// Throws Failure (usage) unless `data` has a tensor of the right dtype for each input of the
/// graph, and no others.
void check_data(const Graph& graph, const NamedTensors& data);

/// Returns the options with micro_batches set if the number was given by its old name.
TrainerOptions without_old_names(TrainerOptions options);

/// Builds the graph from an initialized graph and a batch, of which only the shapes matter.
/// Variables that the loss does not depend on are left out. Throws Failure if none is left.
GradientGraph make_gradient_graph(const Graph& forward, const NamedTensors& batch,
                                  const TrainerOptions& options);

Graph make_update_graph(const Graph& forward, const std::vector<TrainedVariable>& trained,
                        const TrainerOptions& options);

/// The states of an optimizer's node: for each, its name in the operator and its name in the graph.
std::vector<std::pair<std::string, std::string>> states_of(const Graph& update,
                                                           const TrainedVariable& trained);

/// The node's effective parameters, including defaults.
Attributes parameters_of(const Graph& update, const TrainedVariable& trained);

}  // namespace tenon
