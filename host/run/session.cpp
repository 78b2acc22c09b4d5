#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/cast_storage.hpp>

#include "device/devices.hpp"
#include "graph/initialize.hpp"
#include "plan/describe.hpp"
#include "run/homes.hpp"
#include "run/session_impl.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

// 4 MiB of names would not help anybody either
std::string list_of(const std::vector<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

Tensor with_wide_indices(const Tensor& tensor) {
  return tensor.storage() == Storage::dense ? tensor : cast_storage(tensor, tensor.storage());
}

}  // namespace

Session::Impl::Impl(Graph given, SessionOptions given_options) : graph(std::move(given)), options(std::move(given_options)) {
  Device& device = find_device(options.device.empty() ? "cpu" : options.device);
  graph.initialize(options.seed);
  if (uses_gpus(graph.model(), device)) {
    graph = graph.clone();  // what it moves to another device stays where it was for others
    graph.bind();
  }
  own_changing();
  auto& host = graph.host().impl();
  kernels.emplace(graph.model(), graph.impl_->binding, host.plugins().load("cast_storage"), device);
  move_home(graph.model(), *kernels, options.training);
  context = {&host_table(), &host.threads, &streams, &error, options.training, options.keep_on_device, options.capture, options.seed};
}

// Runs change states and updated variables where they are, so these cannot stay in a file's memory or in somebody else's tensor.
// Kernels read int64 indices.
void Session::Impl::own_changing() {
  auto& model = graph.model();
  for (auto& tensor : model.tensors) tensor = with_wide_indices(tensor);
  const auto own = [&](ValueId id) {
    if (auto& value = model.values[id]; value.tensor != none) model.tensors[value.tensor] = model.tensors[value.tensor].clone();
  };
  for (ValueId id = 0; id < model.values.size(); ++id)
    if (model.values[id].role == Role::state) own(id);
  if (options.training)
    for (const auto& [variable, value] : model.updates) own(variable);
}

std::map<ValueId, tenon_type> Session::Impl::check_inputs(const NamedTensors& inputs) const {
  const auto& model = graph.model();
  std::map<ValueId, tenon_type> types;
  std::vector<std::string> names, missing;
  for (const auto id : model.inputs) {
    names.emplace_back(model.strings[model.values[id].name]);
    const auto given = inputs.find(names.back());
    if (given == inputs.end() || !given->second)
      missing.push_back(names.back());
    else
      types.emplace(id, type_of(given->second));
  }
  for (const auto& [name, tensor] : inputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Failure(FailureKind::usage, fmt::format("the graph has no input '{}'", name), fmt::format("its inputs are {}", list_of(names)));
  if (!missing.empty()) throw Failure(FailureKind::usage, fmt::format("no value is given for input {}", list_of(missing)));
  return types;
}

Plan& Session::Impl::plan_for(const std::map<ValueId, tenon_type>& inputs, const std::map<ValueId, Device*>& devices) {
  std::vector<std::int64_t> key;
  for (const auto& [value, type] : inputs) {
    key.push_back(type.dtype << 16 | type.storage << 8 | type.rank);
    key.insert(key.end(), type.dims, type.dims + type.rank);
  }
  for (const auto& [value, device] : devices) key.insert(key.end(), {value, device->type(), device->id()});
  if (const auto found = plans.find(key); found != plans.end()) return *found->second;
  auto types = infer_with(graph.model(), graph.impl_->binding, inputs);
  initialize_late(types);
  auto plan = std::make_unique<Plan>(graph.model(), graph.impl_->binding, *kernels, context, PlanInputs{std::move(types), devices});
  tell_conversions(*plan);  // a plan that is refused is not kept
  tell_fallbacks(*plan);
  return *plans.emplace(key, std::move(plan)).first->second;
}

// Variables and states whose shape only the inputs' shapes decide.
void Session::Impl::initialize_late(const std::vector<tenon_type>& types) {
  auto& model = graph.model();
  bool found = false;
  for (ValueId id = 0; id < model.values.size(); ++id) {
    auto& value = model.values[id];
    if (value.tensor != none || (value.role != Role::variable && value.role != Role::state) || !is_known(types[id])) continue;
    value.type = types[id];
    found = true;
  }
  if (!found) return;
  initialize(model, options.seed);
  move_home(model, *kernels, options.training);
}

Plan& Session::Impl::prepare(const NamedTensors& inputs, std::vector<Tensor>& kept) {
  const auto types = check_inputs(inputs);
  const auto& model = graph.model();
  std::map<ValueId, Device*> devices;
  for (const auto& [value, type] : types) {
    kept.push_back(with_wide_indices(inputs.at(std::string(model.strings[model.values[value].name])).make_contiguous()));
    if (kept.back().abi().dense.device_type != TENON_CPU) devices.emplace(value, &device_of(kept.back()));
  }
  auto& plan = plan_for(types, devices);
  auto next = kept.end() - static_cast<std::ptrdiff_t>(types.size());
  for (const auto& [value, type] : types) plan.set_tensor(value, (next++)->abi());
  return plan;
}

[[noreturn]] static void fail(const Plan& plan, const Step& step) {
  throw plan.failure_of(step);
}

void Session::Impl::execute(Plan& plan) {
  for (const auto& step : plan.start())
    if (step.function(step.instance, step.call) != 0) fail(plan, step);
}

// Each step is waited for, so that its time is its own.
void Session::Impl::execute_traced(Plan& plan) {
  const auto& model = plan.model();
  plan.start_steps();
  for (std::size_t i = 0; i < plan.steps().size(); ++i) {
    const auto& step = plan.steps()[i];
    const auto begin = Trace::Clock::now();
    if (step.function(step.instance, step.call) != 0) throw plan.failure_of(step);
    plan.wait_for(i);
    const auto& node = model.nodes[plan.node_of(i)];
    trace.add(std::string(model.strings[node.name]), work_label(model, node), begin, Trace::Clock::now());
  }
  trace.write(options.trace);
}

NamedTensors Session::Impl::run(Plan& plan, const NamedTensors& inputs, const Destinations& destinations) {
  auto outputs = bind_outputs(plan, inputs, destinations);
  plan.set_step(step++);
  try {
    options.trace.empty() ? execute(plan) : execute_traced(plan);
    plan.finish();
    tell_capture(plan);
  } catch (...) {
    plan.abandon();
    throw;
  }
  take_sparse_outputs(plan, outputs);
  deliver(destinations, outputs);
  return outputs;
}

Session::Session(Graph graph, SessionOptions options) : impl_(std::make_unique<Impl>(std::move(graph), std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

NamedTensors Session::run(const NamedTensors& inputs, const Destinations& destinations) {
  std::vector<Tensor> kept;
  auto& plan = impl_->prepare(inputs, kept);
  return impl_->run(plan, inputs, destinations);
}

std::string Session::first_non_finite(const NamedTensors& inputs) {
  std::vector<Tensor> kept;
  auto& plan = impl_->prepare(inputs, kept);
  const auto outputs = impl_->bind_outputs(plan, inputs, {});
  plan.set_step(impl_->step > 0 ? impl_->step - 1 : 0);
  return impl_->watch(plan);
}

std::string Session::describe_plan(const std::map<std::string, Shape>& shapes) {
  return describe(plan(shapes));
}

const Plan& Session::plan(const std::map<std::string, Shape>& shapes) {
  return impl_->plan_for(input_types(impl_->graph.model(), shapes), {});
}

std::int64_t Session::plan_bytes(const std::map<std::string, Shape>& shapes) {
  return plan(shapes).memory().bytes();
}

std::uint64_t Session::step() const {
  return impl_->step;
}

void Session::set_step(std::uint64_t step) {
  impl_->step = step;
}

const Graph& Session::graph() const {
  return impl_->graph;
}

}  // namespace tenon
