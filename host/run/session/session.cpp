// The public functions of Session.
#include <algorithm>

#include "graph/rewrite/subgraph.hpp"
#include "run/session/optimized_graph.hpp"
#include "run/session/session_impl.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {

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
  const auto& graph = impl_->planner.up_to_date();
  auto copy = graph_of(impl_of(impl_->graph.host()),
                       copy_graph(graph.model(), graph.binding(), graph.tensors));
  impl_of(copy).complete = false;
  copy.bind();  // notes the constants that determine types
  return copy;
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
