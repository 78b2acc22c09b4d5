// Finds or creates the plans for a session's inputs.
#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/cast_storage.hpp>
#include <utility>

#include "io/listed.hpp"
#include "plan/fallback_stage.hpp"
#include "run/evaluation.hpp"
#include "run/execution/overlaps.hpp"
#include "run/session/run_outputs.hpp"
#include "run/session/session_impl.hpp"
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

// Inputs that no requested output needs are accepted and ignored.
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
  for (const auto& [name, tensor] : inputs)
    if (find_input(model, name) == none) refuse_unknown_input(model, name);
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

Session::Impl::NextStage Session::Impl::first_stage(const std::vector<std::string>& outputs) {
  auto& first = graphs.up_to_date();
  return {&first, first.stage_for(outputs, stage_count), outputs};
}

Session::Impl::NextStage Session::Impl::original_stage(const std::vector<std::string>& outputs) {
  auto& original = graphs.original();
  return {&original, original.stage_for(outputs, stage_count), outputs};
}

Planned& Session::Impl::find_or_make(const NextStage& next, const Request& request) {
  quick.reset();
  graphs.run(*next.graph);
  auto key = key_of(*next.stage, request);
  if (auto* const found = plans.find(key); found != nullptr) {
    if (request.destinations != nullptr) check_destinations(*found->plan, *request.destinations);
    return *found;
  }
  if (auto fallback = plans.fallback_for(key))
    throw CannotPlan{std::move(key), std::move(fallback)};
  Planned made;
  try {
    made = make(next, request);
  } catch (const Failure&) {
    if (!graphs.is_optimized(*next.graph)) throw;
    throw CannotPlan{std::move(key)};
  }
  // what refuses the run comes first: storing a plan may drop another one
  if (request.destinations != nullptr) {
    check_destinations(*made.plan, *request.destinations);
    plans.make_execution(made, context, *request.destinations, host().options.memory_limit);
  }
  return plans.insert(std::move(key), std::move(made));
}

Planned Session::Impl::make(const NextStage& next, const Request& request) {
  const auto& [graph, stage, requested] = next;
  const auto evaluate = evaluation(stage->graph, context.call.threads);
  auto inferred = infer_with(stage->model(), stage->graph->binding, graph->tensors, request.types,
                             stage->requested_outputs(),
                             {stage->types.empty() ? nullptr : &stage->types, &request.elements,
                              stage->graph->inference_complete.value, &evaluate});
  graph->initialize_missing(inferred.types, initialized, graphs.random_variables);
  auto [now, later] = cut(stage, inferred, options.training);
  if (later) later->id = stage_count++;
  const auto& outputs = now->subgraph ? now->subgraph->outputs : now->model().outputs;
  for (const auto& [name, value] : outputs)
    inferred.evaluated.erase(value);  // written to the caller's memory
  now = without_evaluated(std::move(now), inferred.evaluated);
  auto plan = make_plan(now->graph, graph->kernels, graph->tensors, std::move(inferred.types),
                        {options.training, options.keep_on_device, options.capture, request.devices,
                         now->requested_outputs(), options.optimize, graph->constants(), fuses(),
                         context.call.threads.count()});
  // refuses conversions if the host is strict
  warn_of_conversions(host().warnings, *plan, graphs.is_optimized(*graph));
  warn_of_fallbacks(host().warnings, *graph, *plan);
  return {graph, std::move(plan), std::move(later), std::move(inferred.evaluated)};
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

std::shared_ptr<const Stage> Session::Impl::rest_of_original(const NextStage& optimized) {
  if (optimized.stage->types.empty())
    return original_stage(optimized.outputs).stage;  // nothing has run yet
  auto rest = fallback_stage(graphs.snapshot(), *optimized.stage);
  if (!rest) throw CannotResume{node_with_effect(*optimized.stage)};
  rest->id = stage_count++;
  return rest;
}

Planned& Session::Impl::plan(NextStage& next,
                             const std::function<Request(const NextStage&)>& request_of) {
  try {
    return find_or_make(next, request_of(next));
  } catch (const CannotPlan& refused) {
    auto stage = refused.fallback ? refused.fallback : rest_of_original(next);
    next = {&graphs.original(), stage, next.outputs};
    auto& planned = find_or_make(next, request_of(next));
    if (!refused.fallback) plans.refuse(refused.key, std::move(stage));
    return planned;
  }
}

Planned& Session::Impl::plan(const std::map<std::string, Shape>& shapes) {
  auto next = first_stage({});
  try {
    auto& planned = plan(next, [&](const NextStage& stage) {
      return Request{input_types(stage.graph->model(), shapes)};
    });
    initialized.clear();
    return planned;
  } catch (...) {
    roll_back();
    throw;
  }
}

Session::Impl::Request Session::Impl::request_of(const NextStage& next,
                                                 const NamedTensors& inputs) const {
  const auto& [graph, stage, requested] = next;
  const auto& model = stage->model();
  Request request{check_inputs(inputs, *stage)};
  for (const auto& [value, type] : request.types) {
    request.input_copies.push_back(with_wide_indices(
        inputs.at(std::string(model.strings[model.values[value].name])).make_contiguous()));
    if (request.input_copies.back().abi().dense.device_type != TENON_CPU)
      request.devices.emplace(value, &device_of(request.input_copies.back()));
  }
  for (const auto value : stage->readable) {
    const auto input = inputs.find(value_label(model, value));
    request.input_copies.push_back((input == inputs.end() ? graph->tensors[value] : input->second)
                                       .to("cpu")
                                       .make_contiguous());
    const auto& tensor = request.input_copies.back();
    if (!may_infer_read(tensor.abi()))
      throw Failure(FailureKind::failed,
                    fmt::format("a shape depends on the elements of '{}', which is {}, but only "
                                "dense tensors of at most 65536 bytes can determine shapes",
                                value_label(model, value), to_string(type_of(tensor))));
    request.elements.emplace(value, &tensor.abi());
  }
  return request;
}

Planned& Session::Impl::prepare(NextStage& next, const NamedTensors& inputs,
                                const Destinations& destinations,
                                std::vector<Tensor>& input_copies) {
  std::map<ValueId, tenon_type> types;
  auto& planned = plan(next, [&](const NextStage& stage) {
    auto request = request_of(stage, inputs);
    request.destinations = &destinations;
    input_copies = request.input_copies;
    types = request.types;
    return request;
  });
  auto& execution = plans.execution_of(planned, context, destinations, host().options.memory_limit);
  const auto random_variables = std::exchange(graphs.random_variables, {});
  if (!options.training)
    warn_of_random_values(host().warnings, model(), random_variables, options.seed);
  for (const auto& [value, tensor] : planned.evaluated) execution.set_tensor(value, tensor.abi());
  auto input = input_copies.begin();
  for (const auto& [value, type] : types) execution.set_tensor(value, (input++)->abi());
  return planned;
}

// In a fused group, each block is written before the next one is read.
Planned& Session::Impl::prepare_for_overlaps(NextStage& next, const NamedTensors& inputs,
                                             const Destinations& destinations,
                                             std::vector<Tensor>& input_copies) {
  auto& planned = prepare(next, inputs, destinations, input_copies);
  overlapped = false;
  if (destinations.empty() || planned.plan->graph.groups.empty()) return planned;
  Overlaps overlaps(*planned.execution);
  for (const auto input : planned.plan->model().inputs) overlaps.add(input, false);
  for (const auto& [name, destination] : destinations)
    if (destination.tensor) overlaps.add(destination.tensor, true);
  if (!overlaps.any()) return planned;
  const StepByStep each_node(*this);
  overlapped = true;
  return prepare(next, inputs, destinations, input_copies);
}

}  // namespace tenon
