#include "cli/print/show_onnx.hpp"

#include <fmt/format.h>

#include "cli/print/json_text.hpp"
#include "cli/print/report.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"
#include "io/utf8.hpp"

namespace tenon::cli {
namespace {

JsonItem texts(const std::vector<std::string>& values) {
  return json_list({values.begin(), values.end()});
}

template <class T, class Describe>
JsonItem items(const std::vector<T>& values, const Describe& describe) {
  std::vector<JsonItem> list;
  list.reserve(values.size());
  for (const auto& value : values) list.push_back(describe(value));
  return json_list(list);
}

JsonItem dim_item(const onnx::Dim& dim) {
  return dim.size >= 0      ? JsonItem(dim.size)
         : dim.name.empty() ? JsonItem::null()
                            : JsonItem(dim.name);
}

JsonItem value_item(const onnx::ValueInfo& value) {
  return json_object("name", value.name, "type", value.type, "dtype",
                     value.dtype.empty() ? JsonItem::null() : value.dtype, "shape",
                     value.has_shape ? items(value.shape, dim_item) : JsonItem::null(), "bytes",
                     value.bytes < 0 ? JsonItem::null() : value.bytes);
}

JsonItem operator_item(const onnx::UsedOperator& op) {
  return json_object("name", op.full_name(), "domain", op.domain, "type", op.type, "overload",
                     op.overload, "version", op.version == 0 ? JsonItem::null() : op.version,
                     "count", op.count, "first_node", op.first_node, "function",
                     JsonItem(op.function));
}

JsonItem missing_item(const onnx::MissingOperator& missing) {
  return json_object("name", missing.op.full_name(), "domain", missing.op.domain, "type",
                     missing.op.type, "overload", missing.op.overload, "version",
                     missing.op.version == 0 ? JsonItem::null() : missing.op.version, "count",
                     missing.op.count, "first_node", missing.op.first_node, "why", missing.why,
                     "near", texts(missing.near), "next_step", missing.next_step);
}

JsonItem function_item(const onnx::FunctionInfo& function) {
  return json_object("domain", function.domain, "name", function.name, "overload",
                     function.overload, "inputs", texts(function.inputs), "outputs",
                     texts(function.outputs), "attributes", texts(function.attributes), "nodes",
                     function.nodes);
}

JsonItem refusal_item(const std::optional<Failure>& refusal) {
  return refusal ? json_object("message", refusal->what(), "hint", refusal->hint())
                 : JsonItem::null();
}

JsonItem model_item(const onnx::ModelInfo& model, const std::optional<Failure>& refusal) {
  const auto pair = [](const char* first, const char* second) {
    return [=](const auto& entry) { return json_object(first, entry.first, second, entry.second); };
  };
  return json_object(
      "format", "onnx", "graph", model.graph, "ir_version", model.ir_version, "model_version",
      model.model_version, "producer", model.producer, "producer_version", model.producer_version,
      "domain", model.domain, "opsets", items(model.opsets, pair("domain", "version")), "metadata",
      items(model.metadata, pair("key", "value")), "inputs", items(model.inputs, value_item),
      "defaults", items(model.defaults, value_item), "outputs", items(model.outputs, value_item),
      "nodes", model.nodes, "operators", items(model.operators, operator_item), "functions",
      items(model.functions, function_item), "initializers", model.initializers,
      "sparse_initializers", model.sparse_initializers, "initializer_bytes",
      model.initializer_bytes, "external_initializers", model.external_initializers,
      "external_bytes", model.external_bytes, "missing", items(model.missing, missing_item),
      "searched", texts(model.searched), "refused", refusal_item(refusal));
}

void line(const char* what, const std::string& name, const std::string& text) {
  write_result("{:<9} {:<24} {}\n", what, printable(name), printable(text));
}

void print_values(const char* what, const std::vector<onnx::ValueInfo>& values) {
  for (const auto& value : values) line(what, value.name, value.type);
}

std::string weights_text(const onnx::ModelInfo& model) {
  auto text = counted(model.initializers + model.sparse_initializers, "initializer");
  if (model.sparse_initializers != 0)
    text += fmt::format(", {} of them sparse", model.sparse_initializers);
  text += ", " + counted(model.initializer_bytes, "byte");
  if (model.external_initializers != 0)
    text += fmt::format(", {} of them with {} in other files", model.external_initializers,
                        counted(model.external_bytes, "byte"));
  return text;
}

void print_text(const onnx::ModelInfo& model, const std::optional<Failure>& refusal) {
  std::string made = model.producer.empty() ? "" : ", by " + model.producer;
  if (!model.producer_version.empty()) made += " " + model.producer_version;
  line("model", model.graph, fmt::format("ONNX, IR {}{}", model.ir_version, made));
  for (const auto& [domain, version] : model.opsets)
    line("opset", domain.empty() ? "ai.onnx" : domain, fmt::format("{}", version));
  // embedded graphs of exported models are long, for example; --json shows everything
  constexpr std::size_t max_shown = 60;
  for (const auto& [key, value] : model.metadata)
    line("metadata", key, value.size() <= max_shown ? value : counted(value.size(), "byte"));
  print_values("input", model.inputs);
  print_values("default", model.defaults);
  print_values("output", model.outputs);
  if (model.initializers + model.sparse_initializers != 0)
    write_result("weights   {}\n", weights_text(model));
  write_result("nodes     {}\n", model.nodes);
  for (const auto& op : model.operators)
    line("operator", op.full_name(),
         counted(op.count, "node") + (op.function ? ", a function of the model" : ""));
  for (const auto& function : model.functions) {
    const onnx::UsedOperator call{
        .domain = function.domain, .type = function.name, .overload = function.overload};
    line("function", call.full_name(),
         fmt::format("({}) -> ({}), {}", fmt::join(function.inputs, ", "),
                     fmt::join(function.outputs, ", "), counted(function.nodes, "node")));
  }
  for (const auto& missing : model.missing) {
    line("missing", missing.op.full_name(), onnx::describe(missing));
    if (!missing.next_step.empty()) line("", "", missing.next_step);
  }
  if (!model.missing.empty())
    write_result("searched  {}\n",
                 model.searched.empty()
                     ? "no folder"
                     : printable(fmt::format("{}", fmt::join(model.searched, ", "))));
  if (!refusal) return;
  line("refused", "", refusal->what());
  if (const auto hint = hint_of(*refusal); !hint.empty()) line("", "", hint);
}

}  // namespace

int show_onnx(const Context& context, const onnx::ModelInfo& model,
              const std::optional<Failure>& refusal) {
  if (context.json())
    print(model_item(model, refusal));
  else
    print_text(model, refusal);
  if (!model.missing.empty()) return static_cast<int>(FailureKind::plugin);
  return refusal ? static_cast<int>(refusal->kind()) : 0;
}

}  // namespace tenon::cli
