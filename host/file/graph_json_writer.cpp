#include <cmath>
#include <nlohmann/json.hpp>
#include <tenon/visit.hpp>

#include "file/graph_json.hpp"
#include "graph/parameters.hpp"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t most_values = 64;

// JSON has no infinities; the reader takes these words for them.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json attribute(const GraphModel& model, const AttributeRecord& record) {
  const auto value = value_of(model, record);
  if (const auto* real = std::get_if<double>(&value.variant())) return number(*real);
  if (const auto* list = std::get_if<std::vector<double>>(&value.variant())) {
    auto array = Json::array();
    for (const double item : *list) array.push_back(number(item));
    return array;
  }
  return std::visit([](const auto& held) { return Json(held); }, value.variant());
}

Json init_of(const Init& init) {
  switch (init.kind) {
    case Init::Kind::zeros:
      return "zeros";
    case Init::Kind::ones:
      return "ones";
    case Init::Kind::xavier:
      return "xavier";
    case Init::Kind::he:
      return "he";
    case Init::Kind::uniform:
      return {{"uniform", {number(init.a), number(init.b)}}};
    case Init::Kind::normal:
      return {{"normal", {number(init.a), number(init.b)}}};
    case Init::Kind::value:
      return {{"value", number(init.a)}};
    default:
      return nullptr;
  }
}

Json elements(const Tensor& tensor) {
  auto values = Json::array();
  visit(tensor.dtype(), [&]<class T>() {
    for (const T value : tensor.make_contiguous().values<T>()) {
      if constexpr (std::is_integral_v<T>)
        values.push_back(value);
      else if constexpr (std::is_same_v<T, double>)
        values.push_back(number(value));
      else
        values.push_back(number(static_cast<double>(static_cast<float>(value))));
    }
  });
  return values;
}

Json value_json(const GraphModel& model, const ValueRecord& value) {
  auto json = Json::object();
  if (value.type.dtype != TENON_DTYPE_UNKNOWN) json["dtype"] = name_of(static_cast<DType>(value.type.dtype));
  if (value.type.rank >= 0) json["shape"] = std::vector<std::int64_t>(value.type.dims, value.type.dims + value.type.rank);
  if (const auto init = init_of(value.init); !init.is_null()) json["init"] = init;
  if (value.tensor != none && model.tensors[value.tensor].size() <= most_values) json["values"] = elements(model.tensors[value.tensor]);
  return json;
}

Json values_json(const GraphModel& model, Role role) {
  auto json = Json::object();
  for (const auto& value : model.values)
    if (value.role == role) json[std::string(model.strings[value.name])] = value_json(model, value);
  return json;
}

Json node_json(const GraphModel& model, const NodeRecord& node) {
  Json json{{"name", model.strings[node.name]}, {"op", model.operators[node.op].name}};
  auto inputs = Json::array();
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    const auto value = model.edges[node.first_edge + i];
    inputs.push_back(value == none ? Json() : Json(value_label(model, value)));
  }
  json["inputs"] = std::move(inputs);
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    json["attrs"][std::string(model.strings[record.name])] = attribute(model, record);
  }
  if (node.device != 0) json["device"] = model.strings[node.device];
  return json;
}

}  // namespace

std::string write_graph_json(const GraphModel& model) {
  Json json{{"tenon", 1}};
  json["inputs"] = Json::object();
  for (const auto id : model.inputs)
    json["inputs"][std::string(model.strings[model.values[id].name])] = value_json(model, model.values[id]);
  for (const auto& [key, role] : {std::pair{"variables", Role::variable}, {"states", Role::state}, {"constants", Role::constant}})
    if (auto values = values_json(model, role); !values.empty()) json[key] = std::move(values);
  json["nodes"] = Json::array();
  for (const auto& node : model.nodes) json["nodes"].push_back(node_json(model, node));
  json["outputs"] = Json::object();
  for (const auto& [name, value] : model.outputs) json["outputs"][std::string(model.strings[name])] = value_label(model, value);
  return json.dump(2);
}

}  // namespace tenon
