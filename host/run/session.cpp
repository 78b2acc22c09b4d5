#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tenon/host/cast_storage.hpp>

#include "device/devices.hpp"
#include "graph/initialize.hpp"
#include "io/crash/crash_handler.hpp"
#include "run/execution/filled_outputs.hpp"
#include "run/execution/step_failure.hpp"
#include "run/execution/step_walk.hpp"
#include "run/session_impl.hpp"
#include "run/tensor_placement.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

// 4 MiB of names would not help anybody either
std::string list_of(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

[[noreturn]] void refuse_unknown_input(const GraphModel& model, const std::string& name) {
  std::vector<std::string> names;
  for (const auto id : model.inputs) names.emplace_back(model.strings[model.values[id].name]);
  throw Failure(FailureKind::usage, fmt::format("the graph has no input '{}'", name), fmt::format("its inputs are {}", list_of(names)));
}

Tensor with_wide_indices(const Tensor& tensor) {
  return tensor.storage() == Storage::dense ? tensor : cast_storage(tensor, tensor.storage());
}

}  // namespace

Session::Impl::Impl(const Graph& given, SessionOptions given_options)
    : graph(impl_of(given).completed()),
      tensors(impl_of(graph).current->tensors.of(model())),
      files(tensors),
      options(std::move(given_options)),
      plans(options.plans) {
  if (options.plans < 1)
    throw Failure(FailureKind::usage, fmt::format("SessionOptions::plans is {} but must be at least 1", options.plans));
  if (options.debug && !options.trace.empty())
    throw Failure(FailureKind::usage, "a session cannot both trace its runs and debug them", "leave one of the two out");
  Device& device = find_device(options.device.empty() ? "cpu" : options.device);
  own_changing();
  kernels.emplace(model(), binding(), host().plugins().load("cast_storage"), device);
  initialize_missing(declared_types(model()));
  place_tensors(model(), *kernels, options.training, tensors);
  share_with_workers(model(), *kernels, options.training, tensors);
  files.require_unchanged();
  files = BackingFiles(tensors);  // without those of which everything was copied
  context = {&host_table(), &host().threads, &streams, nullptr, &error, options.training, options.seed};
}

Session::Impl::Use::Use(const std::unique_ptr<Impl>& session)
    : OneThread::Use(held(session, "the session").used, "the session",
                     "make a session for each thread: sessions of one graph share what they do not change") {}

bool Session::Impl::changes(ValueId value) const {
  const auto& record = model().values[value];
  return record.role == Role::state || (options.training && record.updated);
}

// These cannot stay in a file's memory or in somebody else's tensor.
void Session::Impl::own_changing() {
  const auto own = [&](ValueId id) {
    if (tensors[id]) tensors[id] = tensors[id].clone();
  };
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (model().values[id].role == Role::state) own(id);
  if (options.training)
    for (const auto& [variable, value] : model().updates) own(variable);
}

const Tensor& Session::Impl::tensor(ValueId value) const {
  static const Tensor empty;
  if (value == none) throw Failure(FailureKind::usage, "an empty value has no elements");
  const auto role = model().values[value].role;
  if (role == Role::output || role == Role::input)
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' is {}, and a session keeps variables, states and constants only", value_label(model(), value),
                              role == Role::input ? "an input" : "made by a node"),
                  "a value that is an output of the graph is among the results of run()");
  return tensors[value];
}

// An input that no wanted output needs may be given, and is not looked at.
std::map<ValueId, tenon_type> Session::Impl::check_inputs(const NamedTensors& inputs, const WantedOutputs* wanted) const {
  const auto& model = this->model();
  std::map<ValueId, tenon_type> types;
  std::vector<std::string> missing;
  for (const auto id : model.inputs) {
    if (wanted != nullptr && !wanted->values[id]) continue;
    const std::string name(model.strings[model.values[id].name]);
    const auto given = inputs.find(name);
    if (given == inputs.end() || !given->second)
      missing.push_back(name);
    else
      types.emplace(id, type_of(given->second));
  }
  for (const auto& [name, tensor] : inputs)
    if (find_input(model, name) == none) refuse_unknown_input(model, name);
  if (!missing.empty()) throw Failure(FailureKind::usage, fmt::format("no value is given for input {}", list_of(missing)));
  return types;
}

Planned& Session::Impl::plan_for(const std::map<ValueId, tenon_type>& inputs, const std::map<ValueId, Device*>& devices,
                                 const WantedOutputs* wanted) {
  PlanCache::Key key;
  if (wanted != nullptr) {
    for (const auto& [name, value] : wanted->outputs) key.push_back(name);
    key.push_back(-1);
  }
  for (const auto& [value, type] : inputs) {
    key.push_back(type.dtype << 16 | type.storage << 8 | type.rank);
    key.insert(key.end(), type.dims, type.dims + type.rank);
  }
  for (const auto& [value, device] : devices) key.insert(key.end(), {value, device->type(), device->id()});
  if (auto* const found = plans.find(key); found != nullptr) return *found;
  auto types = infer_with(model(), binding(), tensors, inputs, wanted);
  initialize_missing(types);
  auto plan = make_plan(impl_of(graph).current, *kernels, tensors, std::move(types),
                        {options.training, options.keep_on_device, options.capture, devices, wanted});
  warn_of_conversions(*plan);  // a plan that is refused is not kept
  warn_of_fallbacks(*plan);
  return plans.keep(std::move(key), std::move(plan));
}

// The shapes of some variables and states are known only when those of inputs are.
void Session::Impl::initialize_missing(const std::vector<tenon_type>& types) {
  if (!lacks_values(model(), types, tensors)) return;
  const auto random = initialize(model(), options.seed, types, tensors);
  random_variables.insert(random_variables.end(), random.begin(), random.end());
  place_tensors(model(), *kernels, options.training, tensors);
  share_with_workers(model(), *kernels, options.training, tensors);
}

Execution& Session::Impl::prepare(const NamedTensors& inputs, const RunOptions& request, std::vector<Tensor>& kept) {
  const auto& model = this->model();
  const auto& outputs = request.outputs;
  const WantedOutputs* part = nullptr;
  if (!outputs.empty()) part = &wanted.try_emplace(outputs, model, outputs, options.training).first->second;
  const auto types = check_inputs(inputs, part);
  std::map<ValueId, Device*> devices;
  for (const auto& [value, type] : types) {
    kept.push_back(with_wide_indices(inputs.at(std::string(model.strings[model.values[value].name])).make_contiguous()));
    if (kept.back().abi().dense.device_type != TENON_CPU) devices.emplace(value, &device_of(kept.back()));
  }
  auto& execution =
      plans.execution_of(plan_for(types, devices, part), *kernels, tensors, context, request.destinations, host().options.memory_limit);
  warn_of_random_values();
  auto next = kept.end() - static_cast<std::ptrdiff_t>(types.size());
  for (const auto& [value, type] : types) execution.set_tensor(value, (next++)->abi());
  return execution;
}

static void stop_where_asked(const std::stop_token& stop) {
  if (stop.stop_requested())
    throw Failure(FailureKind::failed, "the run was stopped",
                  "states, and variables in training, keep what nodes that had run made of them");
}

void Session::Impl::execute(Execution& execution, const std::stop_token& stop) {
  const bool may_stop = stop.stop_possible();
  StepWalk walk(execution);
  for (const auto& step : execution.start()) {
    if (may_stop) stop_where_asked(stop);
    walk.call(step);
  }
}

// Each step is waited for, so that its time is its own.
void Session::Impl::execute_traced(Execution& execution, const std::stop_token& stop) {
  const auto& plan = execution.plan();
  trace.begin_run();
  execution.start_steps();
  StepWalk walk(execution);
  for (std::size_t i = 0; i < plan.step_count(); ++i) {
    stop_where_asked(stop);
    const auto begin = Trace::Clock::now();
    walk.call(execution.steps()[i]);
    execution.wait_for(i);
    const auto end = Trace::Clock::now();
    const auto* stream = plan.stream_of(i);
    trace.add(std::string(plan.model().strings[plan.node(i).name]), work_label(plan.model(), plan.node(i)),
              stream == nullptr ? PlannedStream{&plan.device_of(i), StreamRole::kernels} : *stream, begin, end);
  }
  try {
    trace.end_run();
  } catch (const Failure& failure) {  // the results are worth more
    trace_complete = false;
    host().warnings.once("trace", fmt::format("{}; the trace lacks runs", failure.what()));
  }
}

// What a GPU's kernels write is not looked at.
void Session::Impl::execute_debug(Execution& execution, const std::stop_token& stop) {
  const auto& plan = execution.plan();
  execution.start_steps();
  StepWalk walk(execution);
  for (std::size_t i = 0; i < plan.step_count(); ++i) {
    const auto& step = execution.steps()[i];
    const bool looks = plan.copy_of(i) == none && plan.device_of(i).is_cpu();
    stop_where_asked(stop);
    if (looks) fill_outputs(*step.call);
    walk.call(step);
    if (const auto hole = looks ? find_unwritten(*step.call) : std::nullopt)
      throw failure_at(plan, i,
                       fmt::format("its kernel does not write element {} of '{}'", hole->element,
                                   value_label(plan.model(), plan.node(i).first_output + hole->output)),
                       "elements count from 0; tenon check says more about the operator");
  }
}

void Session::Impl::require_unchanged_files(const NamedTensors& inputs) const {
  files.require_unchanged();
  BackingFiles given;
  for (const auto& [name, tensor] : inputs) given.add(tensor);
  given.require_unchanged();
}

NamedTensors Session::Impl::run(Execution& execution, const NamedTensors& inputs, const RunOptions& request) {
  auto outputs = bind_outputs(execution, inputs, request.destinations);
  execution.set_step(step++);
  try {
    if (options.debug)
      execute_debug(execution, request.stop);
    else
      options.trace.empty() ? execute(execution, request.stop) : execute_traced(execution, request.stop);
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
  deliver(request.destinations, outputs);
  return outputs;
}

Tensor Session::Impl::copy_of(ValueId value) const {
  const auto& own = tensor(value);
  if (!own) return own;
  const Tensor here = own.to("cpu");
  return here.stored_values().data() == own.stored_values().data() && changes(value) ? here.clone() : here;
}

Session::Session(const Graph& graph, SessionOptions options) : impl_(std::make_unique<Impl>(graph, std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

NamedTensors Session::run(const NamedTensors& inputs, const RunOptions& options) {
  const Impl::Use use(impl_);
  std::vector<Tensor> kept;
  return impl_->run(impl_->prepare(inputs, options, kept), inputs, options);
}

std::string Session::first_non_finite(const NamedTensors& inputs) {
  const Impl::Use use(impl_);
  std::vector<Tensor> kept;
  auto& execution = impl_->prepare(inputs, RunOptions{}, kept);
  const auto outputs = impl_->bind_outputs(execution, inputs, {});
  execution.set_step(impl_->step > 0 ? impl_->step - 1 : 0);
  return impl_->watch(execution);
}

PlanInfo Session::plan(const std::map<std::string, Shape>& shapes) {
  const Impl::Use use(impl_);
  return info_of(impl_->plan_for(shapes));
}

std::string Session::describe_plan(const std::map<std::string, Shape>& shapes) {
  return describe(plan(shapes));
}

std::int64_t Session::plan_bytes(const std::map<std::string, Shape>& shapes) {
  const Impl::Use use(impl_);
  return impl_->plan_for(shapes).memory.bytes();
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

Tensor Session::tensor(Value value) const {
  const Impl::Use use(impl_);
  return impl_->copy_of(impl_of(impl_->graph).id_of(value));
}

Tensor Session::tensor(std::string_view name) const {
  return tensor(held(impl_, "the session").graph.find(name));
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
