#include "graph/gradient/gradient_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <tenon/detail/host_error.hpp>

#include "graph/strings.hpp"
#include "plugin/plugin_call.hpp"

namespace tenon {
namespace {

AttributeValue value_of(const tenon_attribute& attribute) {
  const bool list = attribute.kind >= TENON_ATTR_TEXT;
  if (list && (attribute.count > 0 || attribute.kind == TENON_ATTR_TENSOR) &&
      attribute.text == nullptr)
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
    case TENON_ATTR_TEXTS: {
      const auto joined = attribute.count > 0 ? std::string_view(attribute.text, attribute.count)
                                              : std::string_view();
      if (!are_joined_texts(joined))
        throw Failure(FailureKind::usage,
                      fmt::format("the last text of parameter '{}' does not end with a zero byte",
                                  attribute.name));
      return split_texts(joined);
    }
    case TENON_ATTR_TENSOR:
      return Tensor::borrow(*attribute.tensor);
    default:
      throw Failure(FailureKind::usage, fmt::format("parameter '{}' has unknown kind {}",
                                                    attribute.name, attribute.kind));
  }
}

// `raw` comes first: its address is also the address of this object.
struct Construction {
  tenon_gradient raw;
  GraphBuilder* builder;
  GraphCallbacks* callbacks;
  ErrorBuffer buffer;
  std::optional<Failure> refused{};  // the last failure: the plugin returns only its text
  ValueId first_added = 0;           // first value added by this call

  static Construction& of(tenon_gradient* self) {
    return *static_cast<Construction*>(self->context);
  }

  template <class Work>
  static std::int32_t answer(tenon_gradient* self, const Work& work) noexcept {
    return guarded(self->error, [&] {
      auto& construction = of(self);
      try {
        work(construction);
      } catch (const Failure& failure) {
        construction.refused = failure;
        throw;
      }
    });
  }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    throw Failure(FailureKind::usage, fmt::format("its {} {}", callbacks->function,
                                                  fmt::format(text, std::forward<Args>(args)...)));
  }

  ValueId known(tenon_value value, std::string_view use) const {
    if (value == TENON_NO_VALUE) refuse("{} an empty value", use);
    const auto& allowed = callbacks->allowed_values;
    if (value >= builder->model().values.size() ||
        (allowed && value < first_added &&
         std::find(allowed->begin(), allowed->end(), value) == allowed->end()))
      refuse("passes a value that does not belong to this graph");
    return static_cast<ValueId>(value);
  }

  bool has(std::int32_t source, std::uint32_t index) const {
    return source >= TENON_GRADIENT_INPUT &&
           source <= (callbacks->output ? TENON_GRADIENT_OUTPUT_GRAD : TENON_GRADIENT_INPUT) &&
           index < (source == TENON_GRADIENT_INPUT ? raw.input_count : raw.output_count);
  }

  static std::int32_t connected(tenon_gradient* self, std::int32_t source,
                                std::uint32_t index) noexcept {
    return of(self).has(source, index) && of(self).callbacks->connected(source, index) ? 1 : 0;
  }

  static std::int32_t type(tenon_gradient* self, tenon_value value, tenon_type* out) noexcept {
    return answer(self, [&](auto& at) {
      *out = at.builder->model().values[at.known(value, "requests the type of")].type;
    });
  }

  static std::int32_t value(tenon_gradient* self, std::int32_t source, std::uint32_t index,
                            tenon_value* out) noexcept {
    return answer(self, [&](auto& at) {
      const bool input = source == TENON_GRADIENT_INPUT;
      if (!at.has(source, index))
        at.refuse("requests {} {}, but there are {}", input ? "input" : "output", index,
                  input ? self->input_count : self->output_count);
      const auto& callbacks = *at.callbacks;
      *out = (input                             ? callbacks.input
              : source == TENON_GRADIENT_OUTPUT ? callbacks.output
                                                : callbacks.output_grad)(index);
    });
  }

  static std::int32_t add(tenon_gradient* self, const char* op, const tenon_value* inputs,
                          std::uint32_t input_count, const tenon_attribute* attributes,
                          std::uint32_t attribute_count, tenon_value* out) noexcept {
    std::uint32_t count = 0;
    return add_all(self, op, inputs, input_count, attributes, attribute_count, out, 1, &count);
  }

  // Writes at most `capacity` values to `out`.
  static std::int32_t add_all(tenon_gradient* self, const char* op, const tenon_value* inputs,
                              std::uint32_t input_count, const tenon_attribute* attributes,
                              std::uint32_t attribute_count, tenon_value* out,
                              std::uint32_t capacity, std::uint32_t* count) noexcept {
    return answer(self, [&](auto& at) {
      if (op == nullptr) at.refuse("adds a node without an operator");
      Attributes parameters;
      for (std::uint32_t i = 0; i < attribute_count; ++i) {
        if (attributes[i].name == nullptr) at.refuse("gives '{}' a parameter without a name", op);
        parameters.set(attributes[i].name, value_of(attributes[i]));
      }
      const auto name = free_name(at.builder->model(), at.callbacks->name_of(op));
      NodeSpec spec{.op = op,
                    .name = name,
                    .inputs = {},
                    .named_inputs = {},
                    .attributes = parameters,
                    .device = at.callbacks->device,
                    .implicit_variables = false};
      spec.home = at.callbacks->home;
      for (std::uint32_t i = 0; i < input_count; ++i)
        spec.inputs.push_back(inputs[i] == TENON_NO_VALUE ? none : at.known(inputs[i], "passes"));
      const auto before = at.builder->mark();
      const auto added = at.builder->node(spec);
      try {
        if (at.callbacks->added) at.callbacks->added(added);
      } catch (...) {
        at.builder->roll_back(before);
        throw;
      }
      const auto& node = at.builder->model().nodes[added];
      if (node.output_count == 0) at.refuse("adds '{}', which has no outputs", op);
      *count = node.output_count;
      for (std::uint32_t i = 0; i < std::min(*count, capacity); ++i) out[i] = node.first_output + i;
    });
  }

  static std::int32_t set_input_grad(tenon_gradient* self, std::uint32_t input,
                                     tenon_value value) noexcept {
    return answer(self, [&](auto& at) {
      if (!at.callbacks->output_grad)
        at.refuse("sets the gradient of an input, which only gradient() may do");
      if (input >= self->input_count)
        at.refuse("sets the gradient of input {}, but there are {}", input, self->input_count);
      at.callbacks->results[input] = at.known(value, "sets the gradient of an input to");
    });
  }

  static std::int32_t set_output(tenon_gradient* self, std::uint32_t output,
                                 tenon_value value) noexcept {
    return answer(self, [&](auto& at) {
      if (at.callbacks->output_grad) at.refuse("sets an output, which only forward() may do");
      if (output >= self->output_count)
        at.refuse("sets output {}, but there are {}", output, self->output_count);
      if (at.callbacks->results[output] != none) at.refuse("sets output {} twice", output);
      at.callbacks->results[output] = at.known(value, "sets an output to");
    });
  }
};

}  // namespace

void run_graph_function(GraphBuilder& builder, const LoadedOperator& op, const void* object,
                        GraphCallbacks& callbacks) {
  callbacks.home = op.info->space;
  Construction construction{{}, &builder, &callbacks, {}};
  construction.first_added = static_cast<ValueId>(builder.model().values.size());
  auto& raw = construction.raw;
  raw.size = sizeof raw;
  raw.error = &construction.buffer.error;
  raw.context = &construction;
  raw.input_count = callbacks.input_count;
  raw.output_count = callbacks.output_count;
  raw.value = Construction::value;
  raw.add = Construction::add;
  raw.set_input_grad = Construction::set_input_grad;
  raw.connected = Construction::connected;
  raw.type = Construction::type;
  raw.add_all = Construction::add_all;
  raw.set_output = Construction::set_output;
  const bool gradient = callbacks.output_grad != nullptr;
  const PluginCall call(op, op.owner,
                        gradient ? PluginFunction::gradient : PluginFunction::compose);
  if ((gradient ? op.table->gradient : op.table->compose)(object, &raw) == 0) return;
  const auto reason = construction.buffer.reason();
  if (construction.refused && reason == construction.refused->what()) throw *construction.refused;
  throw Failure(FailureKind::failed, reason);
}

std::vector<ValueId> run_gradient(GraphBuilder& builder, NodeId id, const GradientValues& values) {
  const auto& model = builder.model();
  const auto node = model.nodes[id];
  GraphCallbacks callbacks;
  callbacks.input_count = node.input_count;
  callbacks.output_count = node.output_count;
  callbacks.results.assign(node.input_count, none);
  callbacks.name_of = [name = fmt::format("{}_gradient", model.strings[node.name])](auto) {
    return name;
  };
  callbacks.input = [&](std::uint32_t i) {
    const auto value = values.input(i);
    if (value == none)
      throw Failure(
          FailureKind::usage,
          fmt::format("its gradient() reads input {}, but that input is not connected", i));
    return value;
  };
  callbacks.output = values.output;
  callbacks.output_grad = [&](std::uint32_t i) {
    const auto gradient = values.output_grad(i);
    return gradient != none ? gradient : values.zeros(node.first_output + i);
  };
  callbacks.connected = [&](std::int32_t source, std::uint32_t i) {
    return source == TENON_GRADIENT_INPUT         ? model.edges[node.first_edge + i] != none
           : source == TENON_GRADIENT_OUTPUT_GRAD ? values.output_grad(i) != none
                                                  : true;
  };
  const auto& bound = builder.binding().nodes[id];
  run_graph_function(builder, *bound.op, bound.instance->get(), callbacks);
  return callbacks.results;
}

}  // namespace tenon
