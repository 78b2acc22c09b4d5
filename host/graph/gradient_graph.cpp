#include "graph/gradient_graph.hpp"

#include <fmt/format.h>

#include <cstring>
#include <tenon/host_error.hpp>

#include "plugin/plugin_call.hpp"

namespace tenon {
namespace {

AttributeValue value_of(const tenon_attribute& attribute) {
  const bool list = attribute.kind >= TENON_ATTR_TEXT;
  if (list && attribute.count > 0 && attribute.text == nullptr)
    throw Failure(FailureKind::usage, fmt::format("parameter '{}' has no value", attribute.name));
  switch (attribute.kind) {
    case TENON_ATTR_BOOL:
      return attribute.i != 0;
    case TENON_ATTR_INT:
      return attribute.i;
    case TENON_ATTR_FLOAT:
      return attribute.f;
    case TENON_ATTR_TEXT:
      return std::string(attribute.text, attribute.count);
    case TENON_ATTR_INTS:
      return std::vector<std::int64_t>(attribute.ints, attribute.ints + attribute.count);
    case TENON_ATTR_FLOATS:
      return std::vector<double>(attribute.floats, attribute.floats + attribute.count);
    default:
      throw Failure(FailureKind::usage, fmt::format("parameter '{}' has unknown kind {}", attribute.name, attribute.kind));
  }
}

// The boundary's struct comes first: its address is also this object's.
struct Construction {
  tenon_gradient raw;
  GraphBuilder* builder;
  NodeId node;
  GradientAround* around;
  ErrorBuffer buffer;

  static Construction& of(tenon_gradient* self) { return *static_cast<Construction*>(self->context); }

  ValueId known(tenon_value value) const {
    if (value == TENON_NO_VALUE) throw Failure(FailureKind::usage, "its gradient() passes an empty value as the gradient of an input");
    if (value >= builder->model().values.size())
      throw Failure(FailureKind::usage, "its gradient() passes a value that does not belong to this graph");
    return static_cast<ValueId>(value);
  }

  static std::int32_t value(tenon_gradient* self, std::int32_t source, std::uint32_t index, tenon_value* out) noexcept {
    return guarded(self->error, [&] {
      auto& construction = of(self);
      const bool input = source == TENON_GRADIENT_INPUT;
      const auto count = input ? self->input_count : self->output_count;
      if (source < TENON_GRADIENT_INPUT || source > TENON_GRADIENT_OUTPUT_GRAD || index >= count)
        throw Failure(FailureKind::usage,
                      fmt::format("its gradient() asks for {0} {1}, but there are {2}", input ? "input" : "output", index, count));
      const auto& around = *construction.around;
      *out = (input ? around.input : source == TENON_GRADIENT_OUTPUT ? around.output : around.output_grad)(index);
    });
  }

  static std::int32_t add(tenon_gradient* self, const char* op, const tenon_value* inputs, std::uint32_t input_count,
                          const tenon_attribute* attributes, std::uint32_t attribute_count, tenon_value* out) noexcept {
    return guarded(self->error, [&] {
      auto& construction = of(self);
      if (op == nullptr) throw Failure(FailureKind::usage, "its gradient() adds a node without an operator");
      Attributes given;
      for (std::uint32_t i = 0; i < attribute_count; ++i) {
        if (attributes[i].name == nullptr)
          throw Failure(FailureKind::usage, fmt::format("its gradient() gives '{}' a parameter without a name", op));
        given.set(attributes[i].name, value_of(attributes[i]));
      }
      NodeSpec spec{.op = op, .name = {}, .inputs = {}, .named_inputs = {}, .attributes = given, .own_weights = false};
      for (std::uint32_t i = 0; i < input_count; ++i)
        spec.inputs.push_back(inputs[i] == TENON_NO_VALUE ? none : construction.known(inputs[i]));
      const auto& model = construction.builder->model();
      const auto name = free_name(model, fmt::format("{}_gradient", model.strings[model.nodes[construction.node].name]));
      spec.name = name;
      const auto added = construction.builder->node(spec);
      if (model.nodes[added].output_count == 0)
        throw Failure(FailureKind::usage, fmt::format("its gradient() adds '{}', which has no outputs", op));
      *out = model.nodes[added].first_output;
    });
  }

  static std::int32_t set_input_grad(tenon_gradient* self, std::uint32_t input, tenon_value value) noexcept {
    return guarded(self->error, [&] {
      auto& construction = of(self);
      if (input >= self->input_count)
        throw Failure(FailureKind::usage,
                      fmt::format("its gradient() sets the gradient of input {}, but there are {}", input, self->input_count));
      construction.around->input_grads[input] = construction.known(value);
    });
  }
};

}  // namespace

void run_gradient(GraphBuilder& builder, NodeId node, GradientAround& around) {
  const auto record = builder.model().nodes[node];
  const auto& bound = builder.binding().nodes[node];
  around.input_grads.assign(record.input_count, none);
  Construction construction{{}, &builder, node, &around, {}};
  auto& raw = construction.raw;
  raw.size = sizeof raw;
  raw.error = &construction.buffer.error;
  raw.context = &construction;
  raw.input_count = record.input_count;
  raw.output_count = record.output_count;
  raw.value = Construction::value;
  raw.add = Construction::add;
  raw.set_input_grad = Construction::set_input_grad;
  const auto* object = bound.instance->get();
  const PluginCall call(*bound.op, bound.op->owner, PluginFunction::gradient);
  if (bound.op->table->gradient(object, &raw) != 0) throw Failure(FailureKind::failed, construction.buffer.reason());
}

}  // namespace tenon
