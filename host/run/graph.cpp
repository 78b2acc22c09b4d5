#include <fmt/format.h>

#include <tenon/graph.hpp>

#include "graph/initialize.hpp"
#include "run/graph_impl.hpp"

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
