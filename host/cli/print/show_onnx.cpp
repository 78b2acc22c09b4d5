#include "cli/print/show_onnx.hpp"

#include <fmt/format.h>

#include "cli/print/json_text.hpp"
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
  return dim.size >= 0 ? JsonItem(dim.size) : dim.name.empty() ? JsonItem::null() : JsonItem(dim.name);
}

JsonItem value_item(const onnx::ValueInfo& value) {
  return json_object("name", value.name, "type", value.type, "dtype", value.dtype.empty() ? JsonItem::null() : value.dtype, "shape",
                     value.has_shape ? items(value.shape, dim_item) : JsonItem::null(), "bytes",
                     value.bytes < 0 ? JsonItem::null() : value.bytes);
}

JsonItem operator_item(const onnx::UsedOperator& op) {
  return json_object("name", op.full_name(), "domain", op.domain, "type", op.type, "overload", op.overload, "version",
                     op.version == 0 ? JsonItem::null() : op.version, "count", op.count, "first_node", op.first_node, "function",
                     JsonItem(op.function));
}

JsonItem function_item(const onnx::FunctionInfo& function) {
  return json_object("domain", function.domain, "name", function.name, "overload", function.overload, "inputs", texts(function.inputs),
                     "outputs", texts(function.outputs), "attributes", texts(function.attributes), "nodes", function.nodes);
}

JsonItem model_item(const onnx::ModelInfo& model) {
  const auto pair = [](const char* first, const char* second) {
    return [=](const auto& entry) { return json_object(first, entry.first, second, entry.second); };
  };
  return json_object("format", "onnx", "graph", model.graph, "ir_version", model.ir_version, "model_version", model.model_version,
                     "producer", model.producer, "producer_version", model.producer_version, "domain", model.domain, "opsets",
                     items(model.opsets, pair("domain", "version")), "metadata", items(model.metadata, pair("key", "value")), "inputs",
                     items(model.inputs, value_item), "defaults", items(model.defaults, value_item), "outputs",
                     items(model.outputs, value_item), "nodes", model.nodes, "operators", items(model.operators, operator_item),
                     "functions", items(model.functions, function_item), "initializers", model.initializers, "sparse_initializers",
                     model.sparse_initializers, "initializer_bytes", model.initializer_bytes, "external_initializers",
                     model.external_initializers, "external_bytes", model.external_bytes);
}

template <class... Args>
void line(const char* what, fmt::format_string<Args...> text, Args&&... args) {
  write_result("{:<9} {}\n", what, printable(fmt::format(text, std::forward<Args>(args)...)));
}

void print_values(const char* what, const std::vector<onnx::ValueInfo>& values) {
  for (const auto& value : values) line(what, "{:<24} {}", value.name, value.type);
}

void print_text(const onnx::ModelInfo& model) {
  line("model", "{:<24} ONNX, IR {}{}{}{}", model.graph, model.ir_version, model.producer.empty() ? "" : ", by " + model.producer,
       model.producer_version.empty() ? "" : " ", model.producer_version);
  for (const auto& [domain, version] : model.opsets) line("opset", "{:<24} {}", domain.empty() ? "ai.onnx" : domain, version);
  for (const auto& [key, value] : model.metadata) line("metadata", "{:<24} {}", key, value);
  print_values("input", model.inputs);
  print_values("default", model.defaults);
  print_values("output", model.outputs);
  const auto count = model.initializers + model.sparse_initializers;
  if (count != 0)
    line("weights", "{}{}, {}{}", counted(count, "initializer"),
         model.sparse_initializers == 0 ? "" : fmt::format(", {} of them sparse", model.sparse_initializers),
         counted(model.initializer_bytes, "byte"),
         model.external_initializers == 0
             ? ""
             : fmt::format(", {} of them with {} in other files", model.external_initializers, counted(model.external_bytes, "byte")));
  line("nodes", "{}", model.nodes);
  for (const auto& op : model.operators)
    line("operator", "{:<24} {}{}", op.full_name(), counted(op.count, "node"), op.function ? ", a function of the model" : "");
  for (const auto& function : model.functions)
    line("function", "{:<24} ({}) -> ({}), {}",
         onnx::UsedOperator{function.domain, function.name, function.overload, 0, 0, {}, true}.full_name(),
         fmt::join(function.inputs, ", "), fmt::join(function.outputs, ", "), counted(function.nodes, "node"));
}

}  // namespace

void show_onnx(const Context& context, const onnx::ModelInfo& model) {
  if (context.json())
    print(model_item(model));
  else
    print_text(model);
}

}  // namespace tenon::cli
