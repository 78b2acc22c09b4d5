#include <fmt/format.h>

#include <algorithm>

#include "device/devices.hpp"
#include "graph/composed/expansion.hpp"
#include "graph/rewrite/subgraph.hpp"
#include "io/owners.hpp"
#include "run/session/optimized_graph.hpp"
#include "run/session/session_impl.hpp"

namespace tenon {
namespace {

SessionOptions checked(SessionOptions options) {
  const auto refuse = [](const std::string& what, const std::string& hint = {}) {
    throw Failure(FailureKind::usage, what, hint);
  };
  if (options.plans < 1)
    refuse(fmt::format("SessionOptions::plans is {} but must be at least 1", options.plans));
  if (options.precision != f32 && options.precision != bf16)
    refuse(fmt::format("SessionOptions::precision is {} but must be float32 or bfloat16",
                       name_of(options.precision)));
  if (options.debug && (options.profile || !options.trace.empty()))
    refuse(fmt::format("a session cannot {} and debug its runs at the same time",
                       options.profile ? "profile" : "trace"),
           "set only one of the two options");
  return options;
}

}  // namespace

Session::Impl::Impl(const Graph& source, SessionOptions user_options)
    : graph(impl_of(source).completed()),
      options(checked(std::move(user_options))),
      graphs(host(),
             expanded(impl_of(graph).current,
                      find_device(options.device.empty() ? "cpu" : options.device)),
             options, [this](const SessionGraph& dropped) { planner.drop(dropped); }),
      files(graphs.last().tensors),
      context{.call = {.threads = host().threads,
                       .seed = options.seed,
                       .training = options.training,
                       .log = &host().kernel_log,
                       .host = &host_table(),
                       .error = &error},
              .streams = &streams,
              .constant_weights = options.constant_weights,
              .session = this},
      plans(options.plans, options.plan_memory) {
  BackingFiles(graphs.snapshot()->tensors.of(model())).require_unchanged();
}

Session::Impl::Use::Use(const Session& session)
    : OneThread::Use(
          impl_of(session).used, "the session",
          "use one session per thread: sessions of one graph share what they do not change") {}

const Tensor& Session::Impl::tensor(ValueId value) const {
  static const Tensor empty;
  if (value == none) throw Failure(FailureKind::usage, "an empty value has no elements");
  const auto role = model().values[value].role;
  if (role == Role::output || role == Role::input)
    throw Failure(
        FailureKind::usage,
        fmt::format("'{}' is {}, but a session stores only variables, states and constants",
                    value_label(model(), value),
                    role == Role::input ? "an input" : "computed by a node"),
        "make the value an output of the graph; run() returns it");
  return graphs.last().tensors[value];
}

Tensor Session::Impl::copy_of(ValueId value) const {
  const auto& stored = tensor(value);
  if (!stored) return stored;
  const Tensor here = stored.to("cpu");
  return here.stored_values().data() == stored.stored_values().data() && changes(value)
             ? here.clone()
             : here;
}

Planned& Session::Impl::plan(const std::map<std::string, Shape>& shapes) {
  auto next = planner.first_stage({});
  try {
    auto& planned = planner.plan(
        next,
        [&](const RunStage& stage) {
          return StageInputs{input_types(stage.graph->model(), shapes)};
        },
        initialized);
    initialized.clear();
    return planned;
  } catch (...) {
    roll_back();
    throw;
  }
}

Session::Session(const Graph& graph, SessionOptions options)
    : impl_(std::make_unique<Impl>(graph, std::move(options))) {}
Session::Session(Graph&& graph, SessionOptions options) {
  const Graph moved = std::move(graph);
  if (!has_owners(moved.impl_, 2)) moved.impl_->bind();  // binds it in place
  impl_ = std::make_unique<Impl>(moved, std::move(options));
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

NamedTensors Session::run(const NamedTensors& inputs, const RunOptions& request) {
  const Impl::Use use(*this);
  return impl_->run(inputs, request);
}

bool Session::run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           const std::stop_token& stop) {
  const Impl::Use use(*this);
  impl_->run_in_order(inputs, outputs, stop);
  return impl_->planner.quick != nullptr;  // for this run, whose outputs the plan determines
}

std::string Session::first_non_finite(const NamedTensors& inputs) {
  const Impl::Use use(*this);
  return impl_->first_non_finite(inputs);
}

PlanInfo Session::plan(const std::map<std::string, Shape>& shapes) {
  const Impl::Use use(*this);
  const auto& planned = impl_->plan(shapes);
  auto info = info_of(*planned.plan, planned.graph->kernels);
  if (planned.later) info.later = node_names(*planned.later);
  return info;
}

std::string Session::describe_plan(const std::map<std::string, Shape>& shapes) {
  return describe(plan(shapes));
}

std::int64_t Session::plan_bytes(const std::map<std::string, Shape>& shapes) {
  const Impl::Use use(*this);
  return impl_->plan(shapes).plan->memory.bytes();
}

std::uint64_t Session::step() const {
  const Impl::Use use(*this);
  return impl_->step;
}

void Session::set_step(std::uint64_t step) {
  const Impl::Use use(*this);
  impl_->step = step;
}

bool Session::trace_complete() const {
  const Impl::Use use(*this);
  return impl_->trace_complete;
}

std::vector<NodeTime> Session::times() const {
  const Impl::Use use(*this);
  std::vector<NodeTime> times;
  for (const auto& [node, time] : impl_->times) times.push_back(time);
  std::stable_sort(times.begin(), times.end(), [](const auto& left, const auto& right) {
    return left.seconds > right.seconds;
  });
  return times;
}

void Session::clear_times() {
  const Impl::Use use(*this);
  impl_->times.clear();
}

Tensor Session::tensor(Value value) const {
  const Impl::Use use(*this);
  return TrackedTensor::expose(impl_->copy_of(impl_of(impl_->graph).id_of(value)));
}

Tensor Session::tensor(std::string_view name) const {
  return tensor(deref(impl_, "the session").graph.find(name));
}

Graph Session::optimized() const {
  const Impl::Use use(*this);
  const auto& graph = impl_->graphs.up_to_date();
  return graph_of(impl_of(impl_->graph.host()),
                  copy_graph(graph.model(), graph.binding(), graph.tensors));
}

Graph Session::graph() const {
  const Impl::Use use(*this);
  auto copy = impl_->graph.clone();
  impl_of(copy).set_tensors([&](ValueId id) {
    const auto& value = impl_->model().values[id];
    const bool is_stored = value.role != Role::input && value.role != Role::output;
    return is_stored && (value.tensor == none || impl_->changes(id)) ? impl_->copy_of(id)
                                                                     : Tensor();
  });
  return copy;
}

}  // namespace tenon
