#include <fmt/format.h>

#include <tenon/host/graph.hpp>
#include <tenon/host/udf.hpp>

#include "graph/gradient/gradient.hpp"
#include "graph/initialize.hpp"
#include "io/utf8.hpp"
#include "plan/plan.hpp"
#include "plugin/operator_name.hpp"
#include "run/graph_impl.hpp"
#include "run/recompute.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

// Returns `none` for a node without outputs.
ValueId first_output(const GraphModel& model, NodeId node) {
  const auto& record = model.nodes[node];
  return record.output_count == 0 ? none : record.first_output;
}

}  // namespace

Graph::Graph(Host& host) : impl_(std::make_shared<Impl>(host.impl_)) {}

Value Graph::input(std::string_view name, DType dtype, const Shape& shape) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  if (dtype == unknown_dtype)
    throw Failure(FailureKind::usage, fmt::format("input '{}' has no dtype", printable(name)),
                  "pass a dtype; only dimensions may be unknown");
  return impl_->value(impl_->builder().input(name, type_of(dtype, shape)));
}

Value Graph::variable(std::string_view name, const Tensor& tensor) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  return impl_->value(impl_->builder().tensor(name, Role::variable, tensor));
}

Value Graph::variable(std::string_view name, DType dtype, const Shape& shape, const Init& init) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  return impl_->value(impl_->builder().unset(name, Role::variable, type_of(dtype, shape), init));
}

Value Graph::constant(std::string_view name, const Tensor& tensor) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  return impl_->value(impl_->builder().tensor(name, Role::constant, tensor));
}

Value Graph::add(std::string_view op, const std::vector<Value>& inputs,
                 const Attributes& attributes, std::string_view name) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  NodeSpec spec{.op = op, .name = name, .inputs = {}, .named_inputs = {}, .attributes = attributes};
  for (const auto input : inputs) spec.inputs.push_back(impl_->id_of(input));
  const auto node = impl_->builder().node(spec);
  return impl_->value(first_output(impl_->model(), node));
}

Value Graph::add(std::string_view op, const std::vector<std::pair<std::string, Value>>& inputs,
                 const Attributes& attributes, std::string_view name) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  NodeSpec spec{.op = op, .name = name, .inputs = {}, .named_inputs = {}, .attributes = attributes};
  for (const auto& [input, value] : inputs)
    spec.named_inputs.emplace_back(input, impl_->id_of(value));
  const auto node = impl_->builder().node(spec);
  return impl_->value(first_output(impl_->model(), node));
}

Value Graph::add_object(Object object, const std::vector<Value>& inputs,
                        const Attributes& attributes, std::string_view name) {
  auto& plugins = impl_of(host()).plugins();
  const auto default_name = internal::snake_case(object.class_name);
  auto type = plugins.name_of(object.table, default_name);
  if (type.empty()) {
    const auto hint = fmt::format(
        "register the class under its own name first: host.add<{}>(\"NAME\")", object.class_name);
    if (!is_identifier(default_name))
      throw Failure(
          FailureKind::usage,
          fmt::format("the class name '{}' is not a valid operator name", object.class_name), hint);
    const auto manifest = object.manifest(default_name);
    auto info = read_manifest(std::as_bytes(std::span(manifest)));
    if (info.space.empty()) info.space = application_space;
    if (plugins.has(info.full_name()))
      throw Failure(FailureKind::usage,
                    fmt::format("the class '{}' would become operator '{}', but that name is taken",
                                object.class_name, info.full_name()),
                    hint);
    type = host().add_operator(manifest, object.table);
  }
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  NodeSpec spec{
      .op = type, .name = name, .inputs = {}, .named_inputs = {}, .attributes = attributes};
  for (const auto input : inputs) spec.inputs.push_back(impl_->id_of(input));
  spec.object = std::make_shared<const OperatorFactory>(std::move(object.make));
  const auto node = impl_->builder().node(spec);
  if (!object.unsaved_class.empty())
    note_unsaved_members(impl_->edit().model, node, object.unsaved_class);
  return impl_->value(first_output(impl_->model(), node));
}

void Graph::output(std::string_view name, Value value) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  if (value.empty())
    throw Failure(FailureKind::usage, fmt::format("the value of output '{}' is empty", name));
  const auto id = impl_->id_of(value);
  impl_->builder().output(name, id);
}

void Graph::set_categories(Value value, const std::vector<std::string>& names) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  if (value.empty()) throw Failure(FailureKind::usage, "an empty value has no categories");
  impl_->builder().name_categories(impl_->id_of(value), names);
}

std::vector<Value> Graph::gradient(Value loss, const std::vector<Value>& wrt,
                                   const GradientOptions& options) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  if (loss.empty()) throw Failure(FailureKind::usage, "the loss is an empty value");
  if (options.memory_budget < 0)
    throw Failure(FailureKind::usage,
                  fmt::format("memory_budget is {} but must be 0 or more", options.memory_budget));
  bind();
  GradientRequest request{
      .loss = impl_->id_of(loss), .seed = impl_->id_of(options.seed), .wrt = {}, .recompute = {}};
  for (const auto value : wrt) {
    if (value.empty()) throw Failure(FailureKind::usage, "wrt contains an empty value");
    request.wrt.push_back(impl_->id_of(value));
  }
  for (const auto value : options.recompute) {
    const auto id = impl_->id_of(value);
    const auto producer = id == none ? none : impl_->model().values[id].producer;
    if (producer == none)
      throw Failure(FailureKind::usage, "only a node's output can be recomputed");
    request.recompute.push_back(producer);
  }
  if (options.memory_budget > 0) {
    const auto chosen = choose_recompute(*this, request, options.memory_budget,
                                         input_types(impl_->model(), options.shapes));
    request.recompute.insert(request.recompute.end(), chosen.begin(), chosen.end());
  }
  auto builder = impl_->builder();
  std::vector<Value> found;
  for (const auto id : add_gradient(builder, request)) found.push_back(impl_->value(id));
  return found;
}

Value Graph::stop_gradient(Value value, std::string_view name) {
  return add("tenon.stop_gradient", {value}, {}, name);
}

void Graph::update(Value variable, Value value) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  if (variable.empty() || value.empty())
    throw Failure(FailureKind::usage, "update() needs a variable and a value");
  const auto variable_id = impl_->id_of(variable), value_id = impl_->id_of(value);
  impl_->builder().update(variable_id, value_id);
}

Graph Graph::clone() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  return Graph(std::make_shared<Impl>(*impl_));
}

Value Graph::find(std::string_view text) const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  return impl_->value(find_value(impl_->model(), text));
}

DType Graph::dtype(Value value) const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  const auto id = impl_->id_of(value);
  const auto dtype =
      id == none ? unknown_type().dtype : impl_->up_to_date()->model.values[id].type.dtype;
  if (dtype == TENON_DTYPE_UNKNOWN)
    throw Failure(FailureKind::usage,
                  fmt::format("the dtype of '{}' is not known yet",
                              id == none ? "" : value_label(impl_->model(), id)));
  return static_cast<DType>(dtype);
}

Shape Graph::shape(Value value) const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  const auto id = impl_->id_of(value);
  if (id == none) throw Failure(FailureKind::usage, "an empty value has no shape");
  return shape_of(impl_->up_to_date()->model.values[id].type);
}

Tensor Graph::tensor(Value value) const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  const auto id = impl_->id_of(value);
  if (id == none) throw Failure(FailureKind::usage, "an empty value has no elements");
  const auto& model = impl_->model();
  const auto& record = model.values[id];
  if (record.tensor == none) return {};
  const auto& tensor = model.tensors[record.tensor];
  if (record.role == Role::constant && !impl_->current->is_bound() && may_infer_read(tensor.abi()))
    impl_->current->exposed.add(tensor, value_label(model, id));
  return TrackedTensor::expose(tensor);
}

void Graph::bind() {
  impl_of(*this).bind();
}

void Graph::initialize(std::uint64_t seed) {
  const GraphUsers::WriteGuard use(impl_of(*this).users);
  bind();
  impl_->initialize(seed);
}

Host& Graph::host() const {
  return impl_of(*this).host;
}
}  // namespace tenon
