#include "run/graph_impl.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/initialize.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {

const GraphModel& model_of(const Graph& graph) {
  return impl_of(graph).model();
}

GraphModel& edit_model(Graph& graph) {
  return impl_of(graph).edit().model;
}

ValueId id_of(const Graph& graph, Value value) {
  return impl_of(graph).id_of(value);
}

std::shared_ptr<const GraphModel> up_to_date_model(const Graph& graph) {
  const auto snapshot = impl_of(graph).up_to_date();
  return {snapshot, &snapshot->model};
}

void set_tensors(Graph& graph, const std::function<Tensor(ValueId)>& tensor_of) {
  impl_of(graph).set_tensors(tensor_of);
}

namespace {

std::uint32_t new_identity() {
  static std::atomic<std::uint32_t> last = 0;
  return ++last;
}

// Lets the builder see that the types in the file are outdated.
void prepare_to_bind(GraphSnapshot& graph) {
  if (!graph.is_bound() && !graph.is_up_to_date()) graph.model.inferred_from = graph.exposed.all();
}

}  // namespace

Graph::Impl::Impl(std::shared_ptr<Host::Impl> owner)
    : host(std::move(owner)),
      current(std::make_shared<GraphSnapshot>()),
      identity(new_identity()) {}

Graph::Impl::Impl(const Impl& other, std::shared_ptr<GraphSnapshot> shared)
    : host(other.host.impl_),
      current(std::move(shared)),
      complete(other.complete),
      identity(new_identity()),
      ancestors_(other.ancestors_),
      shared_(true) {
  ancestors_.push_back({other.identity, other.model().values.size()});
}

GraphSnapshot& Graph::Impl::edit() {
  if (shared_) current = std::make_shared<GraphSnapshot>(*current);
  shared_ = false;
  completed_.reset();
  complete = false;
  current->inference_complete.value = false;
  return *current;
}

void Graph::Impl::adopt(GraphModel model) {
  auto& own = edit().model;
  own = std::move(model);
  upgrade_outputs(own, plugins());
}

GraphBuilder Graph::Impl::builder() {
  auto& snapshot = edit();
  prepare_to_bind(snapshot);
  return {snapshot.model, snapshot.binding, plugins()};
}

void Graph::Impl::bind() {
  {
    const GraphUsers::ReadGuard use(users);
    if (complete && current->is_up_to_date()) return;
  }
  const GraphUsers::WriteGuard use(users);
  builder().complete();
  complete = current->inference_complete.value = true;
}

void Graph::Impl::initialize(std::uint64_t seed) {
  {
    const GraphUsers::ReadGuard use(users);
    if (!lacks_values(model())) return;
  }
  const GraphUsers::WriteGuard use(users);
  const bool was_complete = complete;
  tenon::initialize(edit().model, seed);
  complete = was_complete;
}

void Graph::Impl::set_tensors(const std::function<Tensor(ValueId)>& tensor_of) {
  const bool was_complete = complete;
  auto& model = edit().model;
  for (ValueId id = 0; id < model.values.size(); ++id) {
    auto tensor = tensor_of(id);
    if (!tensor) continue;
    auto& value = model.values[id];
    value.type = type_of(tensor);
    if (value.tensor == none) {
      value.tensor = static_cast<std::uint32_t>(model.tensors.size());
      model.tensors.emplace_back();
    }
    model.tensors[value.tensor] = TrackedTensor::track(tensor);
  }
  complete = was_complete;
}

std::shared_ptr<const GraphSnapshot> Graph::Impl::up_to_date() {
  return current->is_up_to_date() ? current : impl_of(completed()).current;
}

Graph Graph::Impl::completed() {
  const GraphUsers::ReadGuard use(users);
  if (complete && current->is_up_to_date()) return Graph(std::make_shared<Impl>(*this));
  const std::lock_guard lock(completing_);
  auto& operators = plugins();
  const auto version = impl_of(host).version();
  if (!completed_ || completed_with_ != version || !completed_->is_up_to_date()) {
    auto made = std::make_shared<GraphSnapshot>(*current);
    prepare_to_bind(*made);
    GraphBuilder(made->model, made->binding, operators).complete();
    made->inference_complete.value = true;
    if (!current->is_bound() && current->is_up_to_date())
      current->exposed.add(made->model.inferred_from);
    completed_ = std::move(made);
    completed_with_ = version;
  }
  std::shared_ptr<Impl> copy(new Impl(*this, completed_));
  copy->complete = true;
  return Graph(std::move(copy));
}

// Values that a graph shares with its clones have the identity of the common ancestor, so that all
// of them accept the handle.
Value Graph::Impl::value(ValueId id) const {
  if (id == none) return {};
  const auto from = std::find_if(ancestors_.begin(), ancestors_.end(),
                                 [&](const Ancestor& ancestor) { return id < ancestor.values; });
  const auto& record = model().values[id];
  const auto base = record.producer == none ? id : model().nodes[record.producer].first_output;
  return Value(from == ancestors_.end() ? identity : from->identity, base, id - base);
}

bool Graph::Impl::owns(Value value) const {
  if (value.graph_ == identity) return value.base_ < model().values.size();
  return std::any_of(ancestors_.begin(), ancestors_.end(), [&](const Ancestor& ancestor) {
    return ancestor.identity == value.graph_ &&
           value.base_ < std::min(ancestor.values, model().values.size());
  });
}

// A handle stores a node's first output and an offset, because it has no access to the graph.
ValueId Graph::Impl::id_of(Value value) const {
  if (value.empty()) return none;
  if (!owns(value))
    throw Failure(FailureKind::usage, "the value belongs to another graph",
                  "use values of this graph, or of the graph that it was cloned from");
  if (value.offset_ == 0) return value.base_;
  const auto& record = model().values[value.base_];
  const auto count = record.producer == none ? 1 : model().nodes[record.producer].output_count;
  if (value.offset_ >= count)
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' has no output {}: it has {}", value_label(model(), value.base_),
                              value.offset_, count));
  return value.base_ + value.offset_;
}

}  // namespace tenon
