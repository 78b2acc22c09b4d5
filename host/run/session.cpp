#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tenon/host/cast_storage.hpp>

#include "device/devices.hpp"
#include "graph/expansion.hpp"
#include "graph/initialize.hpp"
#include "graph/rewrite/graph_part.hpp"
#include "io/crash/crash_handler.hpp"
#include "io/listed.hpp"
#include "io/owners.hpp"
#include "run/evaluation.hpp"
#include "run/execution/overlaps.hpp"
#include "run/execution/telling_run.hpp"
#include "run/optimized_graph.hpp"
#include "run/session_impl.hpp"
#include "run/watched_stop.hpp"
#include "tensor/held_tensor.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

[[noreturn]] void refuse_unknown_input(const GraphModel& model, const std::string& name) {
  std::vector<std::string> names;
  for (const auto id : model.inputs) names.emplace_back(model.strings[model.values[id].name]);
  throw Failure(FailureKind::usage, fmt::format("the graph has no input '{}'", name), fmt::format("its inputs are {}", listed(names)));
}

void append_elements(PlanCache::Key& key, const tenon_tensor& tensor) {
  const auto bytes = byte_count(type_of(static_cast<DType>(tensor.dtype), Shape(tensor.dense.shape, tensor.dense.ndim)));
  const auto first = key.size();
  key.resize(first + static_cast<std::size_t>(bytes + 7) / 8);
  if (bytes > 0)
    std::memcpy(key.data() + first, static_cast<const std::byte*>(tensor.dense.data) + tensor.dense.byte_offset,
                static_cast<std::size_t>(bytes));
}

void check_names(const Stage& stage, const Destinations& destinations) {
  const auto& outputs = stage.part ? stage.part->outputs : stage.model().outputs;
  for (const auto& [name, destination] : destinations)
    if (std::none_of(outputs.begin(), outputs.end(),
                     [&, &wanted = name](const auto& output) { return stage.model().strings[output.first] == wanted; }))
      throw Failure(FailureKind::usage, fmt::format("the destination of output '{}' is not used: the graph has no such output", name));
}

Destinations destinations_in(const GraphModel& model, const Destinations& all) {
  Destinations found;
  for (const auto& [name, value] : model.outputs)
    if (const auto given = all.find(std::string(model.strings[name])); given != all.end()) found.insert(*given);
  return found;
}

Tensor with_wide_indices(const Tensor& tensor) {
  return tensor.storage() == Storage::dense ? tensor : cast_storage(tensor, tensor.storage());
}

}  // namespace

Session::Impl::Impl(const Graph& given, SessionOptions given_options)
    : graph(impl_of(given).completed()),
      written(expanded(impl_of(graph).current, find_device(given_options.device.empty() ? "cpu" : given_options.device))),
      running(written),
      tensors(running->tensors.of(model())),
      files(tensors),
      options(std::move(given_options)),
      plans(options.plans) {
  if (options.plans < 1)
    throw Failure(FailureKind::usage, fmt::format("SessionOptions::plans is {} but must be at least 1", options.plans));
  if (options.precision != f32 && options.precision != bf16)
    throw Failure(FailureKind::usage,
                  fmt::format("SessionOptions::precision is {} but must be float32 or bfloat16", name_of(options.precision)));
  if (options.debug && (options.profile || !options.trace.empty()))
    throw Failure(FailureKind::usage,
                  fmt::format("a session cannot both {} its runs and debug them", options.profile ? "profile" : "trace"),
                  "leave one of the two out");
  own_changing();
  if (lacks_values(model())) initialize_missing(declared_types(model()));
  hold_constants();
  optimize();
  files.require_unchanged();
  files = BackingFiles(tensors);  // without those of which everything was copied
  context = {&host_table(), &host().threads,          &streams, nullptr, &error, &host().kernel_log, options.training,
             options.seed,  options.constant_weights, this};
}

Session::Impl::Use::Use(const std::unique_ptr<Impl>& session)
    : OneThread::Use(held(session, "the session").used, "the session",
                     "make a session for each thread: sessions of one graph share what they do not change") {}

// An input that no wanted output needs may be given, and is not looked at.
std::map<ValueId, tenon_type> Session::Impl::check_inputs(const NamedTensors& inputs, const Stage& stage) const {
  const auto& model = stage.model();
  std::map<ValueId, tenon_type> types;
  std::vector<std::string> missing;
  for (const auto id : model.inputs) {
    if (stage.part && !stage.part->values[id]) continue;
    const std::string name(model.strings[model.values[id].name]);
    const auto given = inputs.find(name);
    if (given == inputs.end() || !given->second)
      missing.push_back(name);
    else
      types.emplace(id, type_of(given->second));
  }
  for (const auto& [name, tensor] : inputs)
    if (find_input(model, name) == none) refuse_unknown_input(model, name);
  if (!missing.empty())
    throw Failure(FailureKind::usage, fmt::format("no value is given for input {}", listed(missing)),
                  stage.part ? "" : "a run of some outputs, named, needs only their inputs");
  return types;
}

Planned& Session::Impl::plan_for(const std::shared_ptr<const Stage>& stage, const std::map<ValueId, tenon_type>& inputs,
                                 const std::map<ValueId, Device*>& devices, const Inference::Elements& elements) {
  quick.reset();
  PlanCache::Key key{static_cast<std::int64_t>(stage->id), joins_chains()};
  for (const auto& [value, type] : inputs) {
    key.push_back(type.dtype << 16 | type.storage << 8 | type.rank);
    key.insert(key.end(), type.dims, type.dims + type.rank);
  }
  for (const auto& [value, device] : devices) key.insert(key.end(), {value, device->type(), device->id()});
  for (const auto& [value, tensor] : elements) append_elements(key, *tensor);
  if (auto* const found = plans.find(key); found != nullptr) return *found;
  if (running == written) return make_plan_for(stage, std::move(key), inputs, devices, elements);
  try {
    return make_plan_for(stage, std::move(key), inputs, devices, elements);
  } catch (const Failure&) {
    throw CannotPlan();
  }
}

Planned& Session::Impl::make_plan_for(const std::shared_ptr<const Stage>& stage, PlanCache::Key key,
                                      const std::map<ValueId, tenon_type>& inputs, const std::map<ValueId, Device*>& devices,
                                      const Inference::Elements& elements) {
  const auto evaluate = evaluation(stage->graph, *context.threads);
  auto inferred = infer_with(stage->model(), stage->graph->binding, tensors, inputs, stage->wanted(),
                             {stage->types.empty() ? nullptr : &stage->types, &elements, stage->graph->settled.now, &evaluate});
  initialize_missing(inferred.types);
  auto [now, later] = cut(stage, inferred, options.training);
  if (later) later->id = stage_count++;
  const auto& outputs = now->part ? now->part->outputs : now->model().outputs;
  for (const auto& [name, value] : outputs) inferred.evaluated.erase(value);  // these are written where the caller wants them
  now = without(std::move(now), inferred.evaluated);
  auto plan = make_plan(now->graph, *kernels, tensors, std::move(inferred.types),
                        {options.training, options.keep_on_device, options.capture, devices, now->wanted(), options.optimize, constants(),
                         joins_chains(), context.threads->count()});
  warn_of_conversions(*plan);  // a plan that is refused is not kept
  warn_of_fallbacks(*plan);
  return plans.keep(std::move(key), std::move(plan), std::move(later), std::move(inferred.evaluated));
}

Planned& Session::Impl::prepare(const std::shared_ptr<const Stage>& stage, const NamedTensors& inputs, const Destinations& destinations,
                                std::vector<Tensor>& kept) {
  const auto& model = stage->model();
  const auto types = check_inputs(inputs, *stage);
  std::map<ValueId, Device*> devices;
  for (const auto& [value, type] : types) {
    kept.push_back(with_wide_indices(inputs.at(std::string(model.strings[model.values[value].name])).make_contiguous()));
    if (kept.back().abi().dense.device_type != TENON_CPU) devices.emplace(value, &device_of(kept.back()));
  }
  const auto first_seen = kept.size();
  Inference::Elements elements;
  for (const auto value : stage->seen) {
    const auto given = inputs.find(value_label(model, value));
    kept.push_back((given == inputs.end() ? tensor(value) : given->second).to("cpu").make_contiguous());
    if (!may_infer_see(kept.back().abi()))
      throw Failure(
          FailureKind::failed,
          fmt::format("a shape follows from the elements of '{}', which is {}: at most 65536 bytes of dense elements can be used so",
                      value_label(model, value), to_string(type_of(kept.back()))));
  }
  for (std::size_t i = 0; i < stage->seen.size(); ++i) elements.emplace(stage->seen[i], &kept[first_seen + i].abi());
  auto& planned = plan_for(stage, types, devices, elements);
  auto& execution = plans.execution_of(planned, *kernels, tensors, context, destinations, host().options.memory_limit);
  warn_of_random_values();
  for (const auto& [value, tensor] : planned.evaluated) execution.set_tensor(value, tensor.abi());
  auto next = kept.begin() + static_cast<std::ptrdiff_t>(first_seen - types.size());
  for (const auto& [value, type] : types) execution.set_tensor(value, (next++)->abi());
  return planned;
}

// In a chain each block is written before the next one is read.
Planned& Session::Impl::prepare_apart(const std::shared_ptr<const Stage>& stage, const NamedTensors& inputs,
                                      const Destinations& destinations, std::vector<Tensor>& kept) {
  auto& planned = prepare(stage, inputs, destinations, kept);
  overlapped = false;
  if (destinations.empty() || planned.plan->graph.chains.empty()) return planned;
  Overlaps overlaps(*planned.execution);
  for (const auto input : planned.plan->model().inputs) overlaps.add(input, false);
  for (const auto& [name, destination] : destinations)
    if (destination.tensor) overlaps.add(destination.tensor, true);
  if (!overlaps.any()) return planned;
  const StepByStep each_node(*this);
  overlapped = true;
  return prepare(stage, inputs, destinations, kept);
}

// Most graphs have one stage. What a stage makes for later ones is among its outputs.
template <class Visit>
NamedTensors Session::Impl::each_stage(const NamedTensors& inputs, const RunOptions& request, Visit&& visit) {
  std::shared_ptr<const Stage> stage = stage_for(request.outputs);
  NamedTensors given, outputs;
  for (bool first = true;; first = false) {
    std::vector<Tensor> kept;
    auto& planned = prepare_apart(stage, first ? inputs : given, request.destinations, kept);
    const auto later = planned.later;
    if (first && !later) return visit(*planned.execution, inputs, request.destinations, false);
    if (first) check_names(*stage, request.destinations);
    if (first) given = inputs;
    const auto destinations = destinations_in(planned.plan->model(), request.destinations);
    for (auto& [name, tensor] : visit(*planned.execution, given, destinations, later != nullptr)) {
      if (name.starts_with(for_later))
        given.insert_or_assign(name.substr(1), tensor);
      else
        outputs.emplace(name, tensor);
    }
    if (!later) return outputs;
    stage = later;
  }
}

void Session::Impl::require_unchanged_files(const NamedTensors& inputs) const {
  files.require_unchanged();
  BackingFiles given;
  for (const auto& [name, tensor] : inputs) given.add(tensor);
  given.require_unchanged();
}

NamedTensors Session::Impl::run(Execution& execution, const NamedTensors& inputs, const Destinations& destinations,
                                const RunOptions& request, std::uint64_t number, bool more) {
  const auto& stop = request.stop;
  auto outputs = bind_outputs(execution, inputs, destinations);
  execution.set_step(number);
  const WatchedStop watched(execution, stop);
  try {
    back_up(execution, inputs, request, more);
    if (options.debug)
      execute_debug(execution, stop);
    else if (request.finished && options.trace.empty() && !options.profile && execution.gpu() == nullptr)
      run_telling(execution, destinations, outputs, request);
    else
      options.trace.empty() && !options.profile ? execution.run_steps(stop) : execute_watched(execution, stop);
    end_copied_process();
    execution.finish();
    warn_of_capture(execution);
  } catch (...) {
    execution.abandon();
    require_unchanged_files(inputs);  // kernels refuse numbers that are not what they were
    throw;
  }
  require_unchanged_files(inputs);
  take_sparse_outputs(execution, outputs);
  deliver(destinations, outputs);
  return outputs;
}

void Session::Impl::back_up(const Execution& execution, const NamedTensors& inputs, const RunOptions& request, bool more) {
  if (execution.changes().empty()) return;
  BackingFiles checked;  // after the run
  for (const auto& [name, tensor] : inputs) checked.add(tensor);
  const bool may_fail_late = more || options.debug || !checked.empty() || !files.empty();
  if (may_fail_late || batches != nullptr || request.stop.stop_possible() || !execution.changes_last())
    for (const auto value : execution.changes()) back_up(tensors[value]);
}

void Session::Impl::back_up(const Execution& execution, const std::stop_token& stop) {
  if (batches != nullptr || stop.stop_possible() || !files.empty() || !execution.changes_last())
    for (const auto value : execution.changes()) back_up(tensors[value]);
}

void Session::Impl::back_up(const Tensor& changed) {
  if (!changed) return;
  backup.save(changed);
  if (batches != nullptr) batches->save(changed);
}

NamedTensors Session::Impl::run(const NamedTensors& inputs, const RunOptions& request, int& stages) {
  require_current_constants();
  const auto number = step++;
  try {
    auto made = as_optimized_or_original([&] { return run_stages(inputs, request, number, stages); });
    backup.forget();
    return made;
  } catch (...) {
    backup.put_back();
    step = number;
    throw;
  }
}

// What is finished is reported when all stages have plans: until then, the run may begin again with the original graph.
NamedTensors Session::Impl::run_stages(const NamedTensors& inputs, const RunOptions& request, std::uint64_t number, int& stages) {
  stages = 0;
  std::vector<std::string> finished;
  RunOptions early;
  return each_stage(inputs, request, [&](Execution& execution, const NamedTensors& given, const Destinations& destinations, bool more) {
    ++stages;
    if (more && stages == 1) {
      early.stop = request.stop;
      if (request.finished) early.finished = [&](const std::string& name) { finished.push_back(name); };
    }
    if (!more)
      for (const auto& name : std::exchange(finished, {})) request.finished(name);
    return run(execution, given, destinations, more ? early : request, number, more);
  });
}

Session::Session(const Graph& graph, SessionOptions options) : impl_(std::make_unique<Impl>(graph, std::move(options))) {}
Session::Session(Graph&& graph, SessionOptions options) {
  const Graph taken = std::move(graph);
  if (!has_owners(taken.impl_, 2)) taken.impl_->bind();  // where it is
  impl_ = std::make_unique<Impl>(taken, std::move(options));
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

std::string Session::first_non_finite(const NamedTensors& inputs) {
  const Impl::Use use(impl_);
  const Impl::StepByStep each_node(*impl_);
  std::string found;
  try {
    impl_->as_optimized_or_original([&] {
      return impl_->each_stage(inputs, {}, [&](Execution& execution, const NamedTensors& given, const Destinations&, bool) {
        auto outputs = impl_->bind_outputs(execution, given, {});
        execution.set_step(impl_->step > 0 ? impl_->step - 1 : 0);
        impl_->back_up(execution, given, {}, true);
        if (found.empty()) found = impl_->watch(execution);
        impl_->take_sparse_outputs(execution, outputs);
        return outputs;
      });
    });
  } catch (...) {
    impl_->backup.put_back();
    throw;
  }
  impl_->backup.put_back();
  return found;
}

PlanInfo Session::plan(const std::map<std::string, Shape>& shapes) {
  const Impl::Use use(impl_);
  return impl_->as_optimized_or_original([&] {
    const auto& planned = impl_->plan_for(shapes);
    auto info = info_of(*planned.plan);
    if (planned.later) info.later = node_names(*planned.later);
    return info;
  });
}

std::string Session::describe_plan(const std::map<std::string, Shape>& shapes) {
  return describe(plan(shapes));
}

std::int64_t Session::plan_bytes(const std::map<std::string, Shape>& shapes) {
  const Impl::Use use(impl_);
  return impl_->as_optimized_or_original([&] { return impl_->plan_for(shapes).plan->memory.bytes(); });
}

std::uint64_t Session::step() const {
  const Impl::Use use(impl_);
  return impl_->step;
}

void Session::set_step(std::uint64_t step) {
  const Impl::Use use(impl_);
  impl_->step = step;
}

bool Session::trace_complete() const {
  const Impl::Use use(impl_);
  return impl_->trace_complete;
}

std::vector<NodeTime> Session::times() const {
  const Impl::Use use(impl_);
  std::vector<NodeTime> times;
  for (const auto& [node, time] : impl_->times) times.push_back(time);
  std::stable_sort(times.begin(), times.end(), [](const auto& left, const auto& right) { return left.seconds > right.seconds; });
  return times;
}

void Session::clear_times() {
  const Impl::Use use(impl_);
  impl_->times.clear();
}

Tensor Session::tensor(Value value) const {
  const Impl::Use use(impl_);
  return HeldTensor::give_out(impl_->copy_of(impl_of(impl_->graph).id_of(value)));
}

Tensor Session::tensor(std::string_view name) const {
  return tensor(held(impl_, "the session").graph.find(name));
}

Graph Session::optimized() const {
  const Impl::Use use(impl_);
  return graph_of(impl_of(impl_->graph.host()), whole_graph(impl_->model(), impl_->binding(), impl_->tensors));
}

Graph Session::graph() const {
  const Impl::Use use(impl_);
  auto copy = impl_->graph.clone();
  impl_of(copy).set_tensors([&](ValueId id) {
    const auto& value = impl_->model().values[id];
    const bool kept = value.role != Role::input && value.role != Role::output;
    return kept && (value.tensor == none || impl_->changes(id)) ? impl_->copy_of(id) : Tensor();
  });
  return copy;
}

}  // namespace tenon
