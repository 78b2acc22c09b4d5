#include <fmt/format.h>

#include <tenon/graph.hpp>

#include "graph/gradient.hpp"
#include "graph/initialize.hpp"
#include "plan/plan.hpp"
#include "run/graph_impl.hpp"
#include "run/recompute.hpp"

namespace tenon {

Graph::Graph(Host& host) : impl_(std::make_shared<Impl>(host)) {}

Value Graph::input(std::string_view name, DType dtype, const Shape& shape) {
  return Value(impl_->builder().input(name, type_of(dtype, shape)));
}

Value Graph::variable(std::string_view name, const Tensor& tensor) {
  return Value(impl_->builder().tensor(name, Role::variable, tensor));
}

Value Graph::constant(std::string_view name, const Tensor& tensor) {
  return Value(impl_->builder().tensor(name, Role::constant, tensor));
}

// A handle names a node's first output and an offset, because it cannot see the graph.
std::uint32_t Graph::id_of(Value value) const {
  if (value.empty()) return none;
  const auto& model = impl_->model;
  const auto refuse = [](const std::string& what) { throw Failure(FailureKind::usage, what); };
  if (value.base_ >= model.values.size()) refuse("a value of another graph was given");
  if (value.offset_ == 0) return value.base_;
  const auto& record = model.values[value.base_];
  const auto count = record.producer == none ? 1 : model.nodes[record.producer].output_count;
  const auto index = record.index + value.offset_;
  if (index >= count) refuse(fmt::format("output {} of '{}' was asked for but it has {}", index, value_label(model, value.base_), count));
  return value.base_ + value.offset_;
}

Value Graph::add(std::string_view op, const std::vector<Value>& inputs, const Attributes& attributes, std::string_view name) {
  NodeSpec spec{.op = op, .name = name, .inputs = {}, .named_inputs = {}, .attributes = attributes};
  for (const auto input : inputs) spec.inputs.push_back(id_of(input));
  return Value(first_output(impl_->builder().node(spec)));
}

Value Graph::add(std::string_view op, const std::vector<std::pair<std::string, Value>>& inputs, const Attributes& attributes,
                 std::string_view name) {
  NodeSpec spec{.op = op, .name = name, .inputs = {}, .named_inputs = {}, .attributes = attributes};
  for (const auto& [input, value] : inputs) spec.named_inputs.emplace_back(input, id_of(value));
  return Value(first_output(impl_->builder().node(spec)));
}

// A node without outputs gives an empty handle.
std::uint32_t Graph::first_output(std::uint32_t node) const {
  const auto& record = impl_->model.nodes[node];
  return record.output_count == 0 ? none : record.first_output;
}

void Graph::output(std::string_view name, Value value) {
  if (value.empty()) throw Failure(FailureKind::usage, fmt::format("output '{}' is given no value", name));
  impl_->builder().output(name, id_of(value));
}

std::vector<Value> Graph::gradient(Value loss, const std::vector<Value>& wrt, const GradientOptions& options) {
  if (loss.empty()) throw Failure(FailureKind::usage, "the gradient of an empty value was asked for");
  bind();
  GradientRequest request{.loss = id_of(loss), .seed = id_of(options.seed), .wrt = {}, .recompute = {}};
  for (const auto value : wrt) {
    if (value.empty()) throw Failure(FailureKind::usage, "the gradient with respect to an empty value was asked for");
    request.wrt.push_back(id_of(value));
  }
  for (const auto value : options.recompute) {
    const auto id = id_of(value);
    const auto producer = id == none ? none : impl_->model.values[id].producer;
    if (producer == none) throw Failure(FailureKind::usage, "a value to recompute is no output of a node");
    request.recompute.push_back(producer);
  }
  if (options.memory_budget > 0) {
    const auto chosen = choose_recompute(*this, request, options.memory_budget, input_types(impl_->model, options.shapes));
    request.recompute.insert(request.recompute.end(), chosen.begin(), chosen.end());
  }
  auto builder = impl_->builder();
  std::vector<Value> found;
  for (const auto id : add_gradient(builder, request)) found.push_back(id == none ? Value() : Value(id));
  return found;
}

Value Graph::stop_gradient(Value value, std::string_view name) {
  return add("stop_gradient", {value}, {}, name);
}

void Graph::update(Value variable, Value value) {
  if (variable.empty() || value.empty()) throw Failure(FailureKind::usage, "an empty value cannot be updated, nor be taken");
  impl_->builder().update(id_of(variable), id_of(value));
}

Graph Graph::clone() const {
  Graph copy(*impl_->host);
  copy.impl_->model = impl_->model;
  return copy;
}

Value Graph::find(std::string_view text) const {
  return Value(find_value(impl_->model, text));
}

DType Graph::dtype(Value value) const {
  const auto id = id_of(value);
  if (id == none || impl_->model.values[id].type.dtype == TENON_DTYPE_UNKNOWN)
    throw Failure(FailureKind::usage, fmt::format("the dtype of '{}' is not known yet", id == none ? "" : value_label(impl_->model, id)));
  return static_cast<DType>(impl_->model.values[id].type.dtype);
}

Shape Graph::shape(Value value) const {
  const auto id = id_of(value);
  if (id == none) throw Failure(FailureKind::usage, "an empty value has no shape");
  return shape_of(impl_->model.values[id].type);
}

Tensor Graph::tensor(Value value) const {
  const auto id = id_of(value);
  if (id == none) throw Failure(FailureKind::usage, "an empty value has no elements");
  const auto& record = impl_->model.values[id];
  return record.tensor == none ? Tensor() : impl_->model.tensors[record.tensor];
}

void Graph::bind() {
  impl_->builder().complete();
}

void Graph::initialize(std::uint64_t seed) {
  bind();
  tenon::initialize(impl_->model, seed);
}

Host& Graph::host() const {
  return *impl_->host;
}
GraphModel& Graph::model() const {
  return impl_->model;
}

}  // namespace tenon
