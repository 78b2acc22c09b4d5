#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/inference/operator_inference.hpp"
#include "graph/parameters.hpp"
#include "onnx/export/body_graph.hpp"
#include "onnx/export/element_types.hpp"
#include "onnx/export/exporter.hpp"

namespace tenon::onnx {
namespace {

std::string text_of(const ExportedNode& node) {
  std::string text = node.info.full_name();
  for (const auto& [name, value] : node.parameters)
    text += fmt::format(" {}={}", name, to_string(value));
  for (std::size_t i = 0; i < node.types.size(); ++i)
    text += node.inputs[i].empty() ? " -" : ' ' + to_string(node.types[i]);
  return text;
}

DType dtype_of(const tenon_type& type) {
  return static_cast<DType>(type.dtype);
}

/// Whether `predicate` is true for every number in the value.
template <class Predicate>
bool all_numbers(const AttributeValue& value, const Predicate& predicate) {
  if (const auto* number = std::get_if<double>(&value.variant())) return predicate(*number);
  const auto* list = std::get_if<std::vector<double>>(&value.variant());
  return list == nullptr || std::all_of(list->begin(), list->end(), predicate);
}

// Whether float32 attributes may be too narrow for the node's parameters.
bool is_wide(const ExportedNode& node) {
  const auto any = [&](Types types) {
    const auto has = [&](const tenon_type& type) {
      return types.has(static_cast<DType>(type.dtype));
    };
    return std::any_of(node.types.begin(), node.types.end(), has) ||
           std::any_of(node.output_types.begin(), node.output_types.end(), has);
  };
  return any({f64, c128}) || !any({f16, bf16, f32, c64});
}

// ONNX's own domains and those that ONNX runtimes implement.
bool is_widespread(std::string_view domain) {
  return domain.empty() || domain.starts_with("ai.onnx") || domain.starts_with("com.microsoft");
}

// As float32 if that is precise enough, else as a float64 tensor.
AttributeValue exactly(const AttributeValue& value, bool wide) {
  if (all_numbers(value, wide ? written::is_float : written::has_float)) return value;
  if (const auto* number = std::get_if<double>(&value.variant()))
    return Tensor::from({*number}, Shape::scalar());
  const auto& list = std::get<std::vector<double>>(value.variant());
  return Tensor::from(list, {static_cast<std::int64_t>(list.size())});
}

}  // namespace

std::string custom_domain(const OperatorInfo& info) {
  return info.space.empty() || info.space == "tenon" ? "tenon" : "tenon." + info.space;
}

void GraphExport::add_nodes(const std::vector<bool>& requested) {
  read_.assign(model_.values.size(), false);
  for (const auto& node : model_.nodes)
    for (auto edge = node.first_edge; edge < node.first_edge + node.input_count; ++edge)
      if (model_.edges[edge] != none) read_[model_.edges[edge]] = true;
  for (const auto& [name, value] : model_.outputs) read_[value] = true;
  for (NodeId id = 0; id < model_.nodes.size(); ++id)
    if (requested[id]) scope_.reserve_node(model_.strings[model_.nodes[id].name]);
  for (NodeId id = 0; id < model_.nodes.size(); ++id)
    if (requested[id]) at_node(model_, id, [&] { add_node(id); });
}

ExportedNode GraphExport::describe(NodeId id) const {
  const auto& record = model_.nodes[id];
  ExportedNode node{.info = *binding_.nodes[id].info,
                    .name = std::string(model_.strings[record.name]),
                    .parameters = all_parameters(model_, record),
                    .inputs = {},
                    .outputs = {}};
  for (std::uint32_t i = 0; i < record.input_count + record.state_count; ++i) {
    const auto value = model_.edges[record.first_edge + i];
    node.inputs.push_back(value == none ? std::string() : names_[value]);
    node.types.push_back(value == none ? unknown_type() : model_.values[value].type);
    const auto tensor = value == none ? none : model_.values[value].tensor;
    node.elements.push_back(tensor == none ? Tensor() : model_.tensors[tensor]);
    if (value == none) continue;
    if (node.types.back().storage != TENON_DENSE)
      throw Failure(FailureKind::failed,
                    fmt::format("its input '{}' is {}, but ONNX operators take only dense tensors",
                                value_label(model_, value), to_string(node.types.back())),
                    "convert it with cast_storage");
  }
  for (std::uint32_t i = 0; i < record.output_count; ++i) {
    node.outputs.push_back(names_[record.first_output + i]);
    node.output_types.push_back(model_.values[record.first_output + i].type);
    node.read.push_back(read_[record.first_output + i]);
  }
  return node;
}

bool GraphExport::by_form(NodeExport& node, Sources& sources) {
  for (const auto& form : node.info().onnx) {
    const auto version = form.domain.empty() ? std::optional(job_.opset) : scope_.version_for(form);
    if (!version || !form.covers(static_cast<int>(*version))) continue;
    if (auto written = write_by_form(node, form, *version)) {
      sources = std::move(*written);
      scope_.limit(form);
      return true;
    }
  }
  return false;
}

void GraphExport::add_node(NodeId id) {
  const auto& record = model_.nodes[id];
  for (std::uint32_t i = 0; i < record.output_count; ++i) {
    auto& name = names_[record.first_output + i];
    if (name.empty()) name = scope_.free_name(value_label(model_, record.first_output + i));
  }
  const auto exported = describe(id);
  if (write_control_flow(exported, scope_, job_)) return;
  NodeExport node(exported, scope_, job_.opset);
  const auto before = scope_.mark();
  const bool derivative =
      exported.info.find_param("derivative") < 0 && node.has_parameter("derivative");
  const auto decompose = find_decomposition(exported.info.full_name());
  const auto tried = [&](bool written) {
    if (written && !node.is_lossy() && are_sound(exported, before.nodes)) {
      for (const auto& text : node.notes())
        job_.note(fmt::format("node '{}' {}", exported.name, text));
      return true;
    }
    scope_.roll_back(before);
    return false;
  };
  Sources sources;
  if (!derivative &&
      ((decompose != nullptr && tried(decompose(node))) || tried(by_form(node, sources))))
    note_rounding(exported, before.nodes);
  else
    as_custom(exported, sources);
  if (!is_widespread(scope_.nodes.back().domain)) add_function(id, exported, sources);
  require_outputs(exported, before.nodes);
}

// Whether ONNX accepts the dtypes that the written nodes read, and their attribute values fit
// float32.
bool GraphExport::are_sound(const ExportedNode& node, std::size_t first) const {
  const auto is_sound = [&](const written::Node& made) {
    if (!std::all_of(made.attributes.begin(), made.attributes.end(),
                     [](const auto& one) { return all_numbers(one.value, written::has_float); }))
      return false;
    if (!made.domain.empty()) return true;
    if (made.type == "QuantizeLinear" &&
        !accepts_scales(job_.opset, dtype_of(node.types[0]), dtype_of(node.output_types[0]),
                        dtype_of(node.types[1])))
      return false;
    if (made.type == "DequantizeLinear" &&
        !accepts_scales(job_.opset, unknown_dtype, dtype_of(node.types[0]),
                        dtype_of(node.types[1])))
      return false;
    if (made.type.starts_with("Random") &&
        !supports_random(job_.opset, dtype_of(node.output_types[0])))
      return false;
    const auto is_unsupported = [&](const written::Attribute& attribute) {
      for (int i = 0; i < dtype_count; ++i)
        if (const auto dtype = static_cast<DType>(i);
            attribute.name == "to" && (any_complex + low_bit).has(dtype) &&
            attribute.value == AttributeValue(std::int64_t{written::number_of(dtype)}))
          return any_complex.has(dtype) || !accepts_dtype("Cast", job_.opset, dtype);
      return false;
    };
    if (made.type == "Cast" &&
        std::any_of(made.attributes.begin(), made.attributes.end(), is_unsupported))
      return false;
    const std::size_t data = made.type == "Where" ? 1 : made.type == "OneHot" ? 2 : 0;
    if (made.inputs.size() <= data) return true;
    const auto input = std::find(node.inputs.begin(), node.inputs.end(), made.inputs[data]);
    const auto at = static_cast<std::size_t>(input - node.inputs.begin());
    return input == node.inputs.end() ||
           accepts_dtype(made.type, job_.opset, static_cast<DType>(node.types[at].dtype));
  };
  return std::all_of(scope_.nodes.begin() + static_cast<std::ptrdiff_t>(first), scope_.nodes.end(),
                     is_sound);
}

// Hidden outputs do not exist in ONNX, although a Tenon graph may read them.
void GraphExport::require_outputs(const ExportedNode& node, std::size_t first) const {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const auto makes = [&](const written::Node& one) {
      return std::find(one.outputs.begin(), one.outputs.end(), node.outputs[i]) !=
             one.outputs.end();
    };
    if (node.read[i] && std::none_of(scope_.nodes.begin() + static_cast<std::ptrdiff_t>(first),
                                     scope_.nodes.end(), makes))
      throw Failure(FailureKind::failed,
                    fmt::format("its output '{}' is used, but no ONNX operator produces it",
                                node.outputs[i]));
  }
}

// Nodes that compute in float32 or narrower use rounded parameters anyway.
void GraphExport::note_rounding(const ExportedNode& node, std::size_t first) const {
  if (!is_wide(node)) return;
  for (auto at = scope_.nodes.begin() + static_cast<std::ptrdiff_t>(first);
       at != scope_.nodes.end(); ++at)
    for (const auto& attribute : at->attributes)
      all_numbers(attribute.value, [&](double value) {
        if (!written::is_float(value))
          job_.note(fmt::format(
              "node '{}' computes in float64, but its attribute '{}', {}, is rounded to {} in the "
              "file, because ONNX "
              "attributes are float32",
              node.name, attribute.name, value, static_cast<double>(static_cast<float>(value))));
        return true;
      });
}

void GraphExport::as_custom(const ExportedNode& node, Sources& sources) {
  written::Node made{.type = node.info.name,
                     .inputs = node.inputs,
                     .outputs = {},
                     .domain = custom_domain(node.info),
                     .name = node.name};
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (i >= node.info.outputs.size() || !node.info.outputs[i].hidden)
      made.outputs.push_back(node.outputs[i]);
  for (const auto& [name, value] : node.parameters)
    made.attributes.push_back({name, exactly(value, is_wide(node))});
  scope_.add(std::move(made), node.info.version);
  sources.resize(node.inputs.size());
  std::iota(sources.begin(), sources.end(), std::size_t{0});
}

// The last node's operator is a custom one, so other programs need its function.
void GraphExport::add_function(NodeId id, const ExportedNode& node, const Sources& sources) {
  auto& call = scope_.nodes.back();
  const auto function = function_for(id, node, call, sources);
  call.function = function.name;
  if (function.name != nullptr) return;
  job_.note(fmt::format("node '{}' is written as {}::{}, which other programs do not have{}",
                        node.name, call.domain, call.type, function.reason));
  job_.functions.operators.insert(call.domain + ' ' + call.type);
}

// A function has one definition, so each further variant of an operator needs another name.
Functions::Entry GraphExport::function_for(NodeId id, const ExportedNode& node,
                                           const written::Node& call, const Sources& sources) {
  auto key = fmt::format("{}::{} {}", call.domain, call.type, text_of(node));
  // the instance may hold more than its parameters
  if (object_factory(model_, id) != nullptr) key += fmt::format(" {} {}", number_, id);
  if (const auto found = job_.functions.by_use.find(key); found != job_.functions.by_use.end())
    return found->second;
  // placeholder, so that a body that needs itself gets no function
  job_.functions.by_use.emplace(key, Functions::Entry{});
  return job_.functions.by_use[key] = add_body(id, node, call, sources);
}

Functions::Entry GraphExport::add_body(NodeId id, const ExportedNode& node,
                                       const written::Node& call, const Sources& sources) {
  const auto& bound = binding_.nodes[id];
  const bool all_named = std::none_of(call.outputs.begin(), call.outputs.end(),
                                      [](const std::string& name) { return name.empty(); });
  if (bound.op == nullptr || !bound.instance || !all_named) return {};
  std::string reason;
  const auto found = body_of(*bound.op, bound.instance->get(), node, reason);
  if (!reason.empty()) reason = fmt::format("; it has no function body, because {}", reason);
  if (found == nullptr) return {nullptr, reason};
  const auto& inside = *found;
  Scope scope(Scope::Kind::function);
  GraphExport body(inside.model, inside.binding, scope, job_);
  written::Function function{.domain = call.domain,
                             .name = std::make_shared<std::string>(call.type),
                             .inputs = {},
                             .outputs = {},
                             .attributes = {},
                             .nodes = {},
                             .opsets = {}};
  for (const auto source : sources) {
    auto name = scope.free_name(source == none ? "parameter" : name_of_input(node.info, source));
    if (source != none && inside.inputs[source] != none)
      body.name_value(inside.inputs[source], name);
    function.inputs.push_back(std::move(name));
  }
  for (ValueId value = 0; value < inside.model.values.size(); ++value)
    if (const auto tensor = inside.model.values[value].tensor; tensor != none)
      body.name_value(
          value, scope.constant(value_label(inside.model, value), inside.model.tensors[tensor]));
  body.add_nodes(std::vector<bool>(inside.model.nodes.size(), true));
  for (const auto& output : call.outputs) {
    const auto at = std::find(node.outputs.begin(), node.outputs.end(), output);
    auto name = body.name_of(inside.outputs[static_cast<std::size_t>(at - node.outputs.begin())]);
    const bool repeated =
        std::find(function.outputs.begin(), function.outputs.end(), name) !=
            function.outputs.end() ||
        std::find(function.inputs.begin(), function.inputs.end(), name) != function.inputs.end();
    if (repeated) {
      auto copy = scope.free_name(name);
      scope.add({.type = "Identity", .inputs = {name}, .outputs = {copy}}, job_.opset);
      name = std::move(copy);
    }
    function.outputs.push_back(std::move(name));
  }
  for (const auto& attribute : call.attributes) function.attributes.push_back(attribute.name);
  function.nodes = std::move(scope.nodes);
  function.opsets = std::move(scope.opsets);
  function.opsets.emplace("", job_.opset);
  job_.functions.list.push_back(std::move(function));
  return {job_.functions.list.back().name};
}

void Functions::choose_names(const Catalog& catalog) {
  auto taken = operators;
  for (auto& function : list) {
    const auto requested = *function.name;
    // else the author's domain
    const bool is_tenon = function.domain == "tenon" || function.domain.starts_with("tenon.");
    const auto prefix =
        (function.domain == "tenon" ? function.domain
                                    : function.domain.substr(function.domain.find('.') + 1)) +
        '.';
    auto& name = *function.name;
    for (int i = 1; !taken.insert(function.domain + ' ' + name).second ||
                    (i > 1 && is_tenon && catalog.find(prefix + name) != nullptr);
         ++i)
      name = fmt::format("{}_{}", requested, i);
  }
}

}  // namespace tenon::onnx
