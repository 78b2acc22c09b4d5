#include "train/training_graphs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tenon/host/catalog.hpp>
#include <tenon/host/failure.hpp>

#include "graph/model.hpp"
#include "graph/name_mapping.hpp"
#include "graph/parameters.hpp"
#include "io/counted.hpp"
#include "run/impl_access.hpp"
#include "train/gradient_buckets.hpp"
#include "train/tally.hpp"

namespace tenon {
namespace {

const std::string gradient_of = "gradient of ";  // plus a variable: an output of the gradient graph

std::vector<std::string> floating_variables(const Graph& graph) {
  const auto& model = model_of(graph);
  std::vector<std::string> names;
  for (const auto& value : model.values)
    if (value.role == Role::variable && value.type.dtype != TENON_DTYPE_UNKNOWN &&
        floating.has(static_cast<DType>(value.type.dtype)))
      names.emplace_back(model.strings[value.name]);
  return names;
}

std::vector<std::string> inputs_of(const Graph& graph) {
  const auto& model = model_of(graph);
  std::vector<std::string> names;
  for (const auto id : model.inputs) names.emplace_back(model.strings[model.values[id].name]);
  return names;
}

/// Returns the name of an output for the value: an existing one from index `first` on, or a new
/// one.
std::string give_out(Graph& graph, const std::string& name, Value value, std::size_t first) {
  const auto& outputs = model_of(graph).outputs;
  const auto found =
      std::find_if(outputs.begin() + static_cast<std::ptrdiff_t>(first), outputs.end(),
                   [id = id_of(graph, value)](const auto& output) { return output.second == id; });
  if (found != outputs.end()) return std::string(model_of(graph).strings[found->first]);
  auto output = free_name(model_of(graph), name);
  graph.output(output, value);
  return output;
}

/// Adds the gradients of the variables that the loss depends on as outputs, one for each distinct
/// value: both operands of a sum share theirs.
std::vector<TrainedVariable> add_gradients(Graph& graph, Value loss, const GradientOptions& how,
                                           const TrainerOptions& options) {
  const auto names = floating_variables(graph);
  std::vector<Value> variables;
  variables.reserve(names.size());
  for (const auto& name : names) variables.push_back(graph.find(name));
  const auto gradients = graph.gradient(loss, variables, how);
  const auto others = model_of(graph).outputs.size();
  std::vector<TrainedVariable> trained;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (gradients[i].empty()) continue;
    const auto gradient = give_out(graph, gradient_of + names[i], gradients[i], others);
    trained.push_back({names[i], gradient, options.optimizer + " of " + names[i]});
  }
  if (trained.empty())
    throw Failure(
        FailureKind::usage,
        fmt::format("there is nothing to train: the loss '{}' does not depend on a variable",
                    options.loss));
  return trained;
}

}  // namespace

Value named_value(const Graph& graph, const std::string& name, const char* what) {
  const auto& model = model_of(graph);
  if (name.empty())
    throw Failure(FailureKind::usage, fmt::format("the name of the {} is empty", what));
  const auto own = graph_output_name(model, name);
  for (const auto& [output, value] : model.outputs)
    if (model.strings[output] == own) return graph.find(value_label(model, value));
  return graph.find(name);
}

void require_loss(const Graph& graph, Value loss, const std::string& name) {
  const auto refuse = [&](const std::string& what) {
    throw Failure(FailureKind::usage, fmt::format("the loss '{}' {}", name, what),
                  "use sum, mean, or a loss with reduction mean, which return one number");
  };
  if (!floating.has(graph.dtype(loss)))
    refuse(fmt::format("is {} but must be floating-point", name_of(graph.dtype(loss))));
  const auto shape = graph.shape(loss);
  const bool one = shape.has_rank() && std::all_of(shape.begin(), shape.end(),
                                                   [](std::int64_t dim) { return dim == 1; });
  if (!one) refuse(fmt::format("has shape {} but must be one number", to_string(shape)));
}

void check_accuracy(const Graph& graph, const std::string& scores, const std::string& label) {
  if (scores.empty() != label.empty())
    throw Failure(FailureKind::usage, "accuracy needs both scores and label");
  if (label.empty()) return;
  if (find_input(model_of(graph), label) != none) return;
  const auto names = inputs_of(graph);
  throw Failure(
      FailureKind::usage,
      fmt::format("accuracy needs the labels, but the graph has no input '{}'", label),
      did_you_mean(similar_names(label, names), fmt::format("its inputs are {}", listed(names))));
}

void check_data(const Graph& graph, const NamedTensors& data) {
  const auto& model = model_of(graph);
  const auto names = inputs_of(graph);
  for (const auto& [name, tensor] : data)
    if (find_input(model, name) == none)
      throw Failure(FailureKind::usage, fmt::format("the graph has no input '{}'", name),
                    did_you_mean(similar_names(name, names),
                                 fmt::format("its inputs are {}", listed(names))));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto array = data.find(names[i]);
    if (array == data.end() || !array->second)
      throw Failure(FailureKind::usage,
                    fmt::format("there are no examples for input '{}'", names[i]));
    const auto needed = model.values[model.inputs[i]].type.dtype;
    if (needed != TENON_DTYPE_UNKNOWN && static_cast<DType>(needed) != array->second.dtype())
      throw Failure(FailureKind::usage, fmt::format("input '{}' is {} but the graph needs {}",
                                                    names[i], name_of(array->second.dtype()),
                                                    name_of(static_cast<DType>(needed))));
  }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TrainerOptions without_old_names(TrainerOptions options) {
  if (options.micro_batches == 1) options.micro_batches = options.lanes;
  return options;
}
#pragma GCC diagnostic pop

GradientGraph make_gradient_graph(const Graph& forward, const NamedTensors& batch,
                                  const TrainerOptions& options) {
  GradientGraph made{forward.clone(), {}, {}};
  auto& graph = made.graph;
  graph.bind();
  const auto loss = named_value(graph, options.loss, "loss");
  const auto scores =
      options.scores.empty() ? Value() : named_value(graph, options.scores, "scores");
  require_loss(graph, loss, options.loss);
  edit_model(graph).clear_outputs();  // drops what steps do not need
  graph.output(loss_output, loss);
  if (!scores.empty()) graph.output(scores_output, scores);
  GradientOptions how;
  how.memory_budget = options.memory_budget;
  for (const auto& [name, tensor] : by_input_names(model_of(forward), batch))
    how.shapes.emplace(name, tensor.shape());
  if (options.accumulate > 1 || options.micro_batches > 1) {
    made.weight_input = free_name(model_of(graph), "share of the step");
    how.seed = graph.input(made.weight_input, graph.dtype(loss), graph.shape(loss));
  }
  made.trained = add_gradients(graph, loss, how, options);
  return made;
}

Graph training_graph(const Graph& graph, const NamedTensors& batch, const TrainerOptions& options) {
  return make_gradient_graph(graph, batch, without_old_names(options)).graph;
}

std::vector<PlannedBucket> planned_buckets(const Graph& training, const PlanInfo& plan,
                                           int processes) {
  struct Gradient {
    std::string variable;
    const PlannedOutput* output;
    std::size_t steps;
  };
  const auto& model = model_of(training);
  std::vector<Gradient> dense;
  for (auto at = model.outputs.rbegin(); at != model.outputs.rend(); ++at) {
    const std::string name(model.strings[at->first]);
    if (!name.starts_with(gradient_of)) continue;
    Gradient found{name.substr(gradient_of.size()), nullptr, 0};
    const auto label = value_label(model, at->second);
    for (std::size_t step = 0; step < plan.steps.size(); ++step)
      for (const auto& output : plan.steps[step].outputs)
        if (output.value == label) found.output = &output, found.steps = step + 1;
    if (found.output == nullptr)
      found.steps = plan.steps.size();  // a sum without a step of its own
    if (found.output == nullptr || found.output->storage == Storage::dense) dense.push_back(found);
  }
  std::vector<std::pair<DType, Shape>> types;
  for (const auto& one : dense) {
    const auto tensor = training.tensor(training.find(one.variable));
    types.emplace_back(tensor.dtype(), tensor.shape());
  }
  std::vector<PlannedBucket> buckets;
  std::size_t first = 0;
  for (const auto end : bucket_ends(types, processes)) {
    auto& bucket = buckets.emplace_back();
    bucket.dtype = types[first].first;
    for (; first < end; ++first) {
      bucket.variables.push_back(dense[first].variable);
      bucket.bytes += types[first].second.size() * static_cast<std::int64_t>(size_of(bucket.dtype));
      bucket.steps = std::max(bucket.steps, dense[first].steps);
    }
    if (buckets.size() > 1)
      bucket.steps =
          std::max(bucket.steps, buckets[buckets.size() - 2].steps);  // buckets are added in order
  }
  return buckets;
}

Graph make_update_graph(const Graph& forward, const std::vector<TrainedVariable>& trained,
                        const TrainerOptions& options) {
  find_optimizer(forward.host(), options.optimizer);
  Graph graph(forward.host());
  const auto rate = graph.input(rate_input, DType::f32, Shape::scalar());
  std::vector<Value> variables, gradients;
  std::map<std::string, Value> inputs;  // variables may share a gradient
  for (const auto& one : trained) {
    const auto tensor = forward.tensor(forward.find(one.variable));
    variables.push_back(graph.variable(one.variable, tensor));
    auto& gradient = inputs[one.gradient];
    if (gradient.empty()) gradient = graph.input(one.gradient, tensor.dtype(), tensor.shape());
    gradients.push_back(gradient);
  }
  if (options.clip_norm > 0) {
    const auto scale =
        graph.add("tenon.global_norm_scale", gradients, {{"max_norm", options.clip_norm}});
    for (auto& gradient : gradients) gradient = graph.add("tenon.scale_by", {gradient, scale});
  }
  for (std::size_t i = 0; i < trained.size(); ++i)
    graph.update(variables[i], graph.add(options.optimizer, {variables[i], gradients[i], rate},
                                         options.parameters, trained[i].node));
  graph.bind();
  return graph;
}

std::vector<std::pair<std::string, std::string>> states_of(const Graph& update,
                                                           const TrainedVariable& trained) {
  const auto& model = model_of(update);
  const auto& node = model.nodes[model.node_names.find(model.strings.find(trained.node))];
  const auto& declared = model.operators[node.op].info->states;
  std::vector<std::pair<std::string, std::string>> states;
  for (std::uint32_t i = 0; i < node.state_count; ++i)
    states.emplace_back(declared[i].name,
                        value_label(model, model.edges[node.first_edge + node.input_count + i]));
  return states;
}

Attributes parameters_of(const Graph& update, const TrainedVariable& trained) {
  const auto& model = model_of(update);
  const auto& node = model.nodes[model.node_names.find(model.strings.find(trained.node))];
  Attributes parameters;
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    parameters.set(std::string(model.strings[record.name]), value_of(model, record));
  }
  return parameters;
}

}  // namespace tenon
