#include "run/session/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/cast_storage.hpp>

#include "io/counted.hpp"
#include "plan/fallback_stage.hpp"
#include "run/evaluation.hpp"
#include "run/session/run_outputs.hpp"
#include "run/session/session_warnings.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

[[noreturn]] void refuse_unknown_input(const GraphModel& model, const std::string& name) {
  std::vector<std::string> names;
  for (const auto id : model.inputs) names.emplace_back(model.strings[model.values[id].name]);
  throw Failure(FailureKind::usage, fmt::format("the graph has no input '{}'", name),
                fmt::format("its inputs are {}", listed(names)));
}

// Inputs that no requested output needs are accepted and ignored. Later stages also get values that
// only the optimized graph reads, or only other stages.
std::map<ValueId, tenon_type> check_inputs(const NamedTensors& inputs, const Stage& stage) {
  const auto& model = stage.model();
  std::map<ValueId, tenon_type> types;
  std::vector<std::string> missing;
  for (const auto id : model.inputs) {
    if (stage.subgraph && !stage.subgraph->values[id]) continue;
    const std::string name(model.strings[model.values[id].name]);
    const auto input = inputs.find(name);
    if (input == inputs.end() || !input->second)
      missing.push_back(name);
    else
      types.emplace(id, type_of(input->second));
  }
  const bool is_first = stage.types.empty();
  for (const auto& [name, tensor] : inputs)
    if (is_first && find_input(model, name) == none) refuse_unknown_input(model, name);
  if (!missing.empty())
    throw Failure(
        FailureKind::usage, fmt::format("no value passed for input {}", listed(missing)),
        stage.subgraph ? "" : "if only some outputs are requested, only their inputs are needed");
  return types;
}

Tensor with_wide_indices(const Tensor& tensor) {
  return tensor.storage() == Storage::dense ? tensor : cast_storage(tensor, tensor.storage());
}

}  // namespace

StageInputs stage_inputs(const SessionGraphs& graphs, const RunStage& next,
                         const NamedTensors& inputs) {
  const auto& [graph, stage, requested] = next;
  const auto& model = stage->model();
  StageInputs found{check_inputs(inputs, *stage)};
  for (const auto& [value, type] : found.types) {
    found.copies.push_back(with_wide_indices(
        inputs.at(std::string(model.strings[model.values[value].name])).make_contiguous()));
    if (found.copies.back().abi().dense.device_type != TENON_CPU)
      found.devices.emplace(value, &device_of(found.copies.back()));
  }
  for (const auto value : stage->readable) {
    const auto input = inputs.find(value_label(model, value));
    found.copies.push_back((input == inputs.end() ? graphs.tensor_of(*graph, value) : input->second)
                               .to("cpu")
                               .make_contiguous());
    const auto& tensor = found.copies.back();
    if (!may_infer_read(tensor.abi()))
      throw Failure(FailureKind::failed,
                    fmt::format("a shape depends on the elements of '{}', which is {}, but only "
                                "dense tensors of at most 65536 bytes can determine shapes",
                                value_label(model, value), to_string(type_of(tensor))));
    found.elements.emplace(value, &tensor.abi());
  }
  return found;
}

RunStage Planner::first_stage(const std::vector<std::string>& outputs) {
  auto& first = up_to_date();
  return {&first, first.stage_for(outputs, stage_count_), outputs};
}

RunStage Planner::original_stage(const std::vector<std::string>& outputs) {
  auto& original = graphs_.original();
  return {&original, original.stage_for(outputs, stage_count_), outputs};
}

/// Thrown if the optimized graph cannot be planned for these inputs: a rule was applied before all
/// shapes were known, or the inputs are wrong.
struct Planner::CannotPlan {
  PlanStore::Key key;
  std::shared_ptr<const Stage>
      fallback{};  ///< an already planned stage of the original graph; may be null
};

PlanStore::Key Planner::key_of(const Stage& stage, const StageInputs& inputs) const {
  return PlanStore::key_of(stage, fuses(inputs), inputs.types, inputs.devices, inputs.elements);
}

Planned& Planner::find_or_make(const RunStage& next, const StageInputs& inputs,
                               std::vector<ValueId>& initialized) {
  SessionGraphs::Change change(graphs_, *next.graph);
  auto key = key_of(*next.stage, inputs);
  if (auto* const found = change.moves() ? nullptr : plans_.find(key); found != nullptr) {
    if (inputs.destinations != nullptr) prepare_run(*found, *inputs.destinations);
    quick.reset();
    change.commit();
    return *found;
  }
  if (auto fallback = plans_.fallback_for(key))
    throw CannotPlan{std::move(key), std::move(fallback)};
  Planned made;
  try {
    made = make(next, inputs, initialized);
  } catch (const Failure&) {
    if (!graphs_.is_optimized(*next.graph)) throw;
    throw CannotPlan{std::move(key)};
  }
  // what refuses the run comes first: storing a plan may drop another one
  if (inputs.destinations != nullptr) prepare_run(made, *inputs.destinations);
  quick.reset();
  change.commit();
  return plans_.insert(std::move(key), std::move(made));
}

void Planner::prepare_run(Planned& planned, const Destinations& destinations) {
  check_destinations(*planned.plan, destinations);
  if (planned.execution) return;
  try {
    plans_.make_execution(planned, context_, destinations, host_.options.memory_limit);
  } catch (...) {
    if (plans_.last() == nullptr) quick.reset();  // allocating an arena drops executions first
    throw;
  }
}

Planned Planner::make(const RunStage& next, const StageInputs& inputs,
                      std::vector<ValueId>& initialized) {
  const auto& [graph, stage, requested] = next;
  const auto evaluate = evaluation(stage->graph, context_.call.threads);
  auto inferred = infer_with(stage->model(), stage->graph->binding, graph->tensors, inputs.types,
                             stage->requested_outputs(),
                             {stage->types.empty() ? nullptr : &stage->types, &inputs.elements,
                              stage->graph->inference_complete.value, &evaluate});
  note_reads(stage->model(), graph->tensors, inferred.read_constants);
  graph->initialize_missing(inferred.types, initialized, graphs_.random_variables);
  auto [now, later] = cut(stage, inferred, options_.training);
  if (later) later->id = stage_count_++;
  const auto& outputs = now->subgraph ? now->subgraph->outputs : now->model().outputs;
  for (const auto& [name, value] : outputs)
    inferred.evaluated.erase(value);  // written to the caller's memory
  now = without_evaluated(std::move(now), inferred.evaluated);
  auto plan = make_plan(now->graph, graph->kernels, graph->tensors, std::move(inferred.types),
                        {options_.training, options_.keep_on_device, options_.capture,
                         inputs.devices, now->requested_outputs(), options_.optimize,
                         graph->constants(), fuses(inputs), context_.call.threads.count()});
  // refuses conversions if the host is strict
  warn_of_conversions(host_.warnings, *plan, graphs_.is_optimized(*graph));
  warn_of_fallbacks(host_.warnings, *graph, *plan);
  return {graph, std::move(plan), std::move(later), std::move(inferred.evaluated)};
}

// Planning reads the graph's elements, kernels the session's: elsewhere, these are a copy.
void Planner::note_reads(const GraphModel& model, const TensorTable& tensors,
                         const std::set<ValueId>& read) {
  if (options_.constant_weights) return;
  for (const auto value : read) {
    const auto& tensor = model.tensors[model.values[value].tensor];
    const bool shared = tensor.data() == tensors[value].data();
    (shared ? constants_ : fixed_).add(tensor, value_label(model, value));
  }
}

void Planner::refuse_changed() const {
  throw Failure(FailureKind::usage,
                fmt::format("constant '{}' determined shapes of the session, but has been written "
                            "to since the session was created",
                            fixed_.find_changed()),
                "create a new session or trainer: it infers the shapes again");
}

namespace {

/// Returns the label of a node outside of `rest` that has effects which no backup undoes; empty:
/// none.
std::string node_with_effect(const Stage& rest) {
  const auto& model = rest.model();
  for (NodeId id = 0; id < model.nodes.size(); ++id) {
    const auto& bound = rest.graph->binding.nodes[id];
    if (!rest.subgraph->nodes[id] && bound.op != nullptr &&
        has_external_effects(model, id, *bound.op))
      return node_label(model, id);
  }
  return {};
}

}  // namespace

// The part of the original graph that remains where the optimized one cannot be planned.
std::shared_ptr<const Stage> Planner::rest_of_original(const RunStage& optimized) {
  if (optimized.stage->types.empty())
    return original_stage(optimized.outputs).stage;  // nothing has run yet
  auto rest = fallback_stage(graphs_.snapshot(), *optimized.stage);
  if (!rest) throw CannotResume{node_with_effect(*optimized.stage)};
  rest->id = stage_count_++;
  return rest;
}

Planned& Planner::plan(RunStage& next, const InputsOf& inputs_of,
                       std::vector<ValueId>& initialized) {
  try {
    return find_or_make(next, inputs_of(next), initialized);
  } catch (const CannotPlan& refused) {
    auto stage = refused.fallback ? refused.fallback : rest_of_original(next);
    next = {&graphs_.original(), stage, next.outputs};
    auto& planned = find_or_make(next, inputs_of(next), initialized);
    if (!refused.fallback) plans_.refuse(refused.key, std::move(stage));
    return planned;
  }
}

Execution& Planner::execution_of(Planned& planned, const Destinations& destinations) {
  return plans_.execution_of(planned, context_, destinations, host_.options.memory_limit);
}

RunStage Planner::fall_back(const RunStage& first, const StageInputs& inputs) {
  auto original = original_stage(first.outputs);
  plans_.refuse(key_of(*first.stage, inputs), original.stage);
  return original;
}

void Planner::drop(const SessionGraph& graph) {
  quick.reset();
  plans_.drop(graph);
}

void Planner::drop_all() {
  constants_.clear();
  for (const auto* graph : graphs_.all()) drop(*graph);
}

void Planner::drop_values(std::span<const ValueId> values) {
  quick.reset();
  plans_.drop_users(values);
  for (auto* graph : graphs_.all())
    for (const auto value : values) graph->tensors[value] = Tensor();
}

}  // namespace tenon
