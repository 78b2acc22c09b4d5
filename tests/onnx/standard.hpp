// Checks whether a model is valid according to the standard's operator schemas: schemas.txt, which
// write_schemas.py generates from the package onnx.
#pragma once
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "onnx/dtype.hpp"
#include "onnx/model.hpp"

namespace standard {

using tenon::DType;
namespace proto = tenon::onnx::proto;
using Texts = std::vector<std::string>;
// of values; unknown_dtype: unknown
using ElementTypes = std::map<std::string, DType, std::less<>>;

inline Texts split(const std::string& text, char by) {
  Texts fields;
  std::istringstream in(text == "-" ? "" : text);
  for (std::string part; std::getline(in, part, by);) fields.push_back(part);
  return fields;
}

inline DType dtype_of(std::string_view short_name) {
#define TENON_TEST_DTYPE(name, NUMBER, type, numpy, letter) \
  if (short_name == #name) return DType(TENON_##NUMBER);
  TENON_DTYPES(TENON_TEST_DTYPE)
#undef TENON_TEST_DTYPE
  return tenon::unknown_dtype;
}

/// A line of schemas.txt.
struct Schema {
  std::int64_t since = 0;
  bool deprecated = false;
  std::size_t min_inputs = 0, max_inputs = 0, min_outputs = 0, max_outputs = 0;
  Texts inputs{}, outputs{};  ///< their type variables; `=f32` is a fixed type
  std::map<std::string, Texts> types{};
  std::map<std::string, std::string> attributes{};  ///< their kinds
  Texts required{};
};

inline std::size_t count_of(const std::string& text) {
  return text == "*" ? SIZE_MAX : std::stoul(text);
}

inline std::multimap<std::string, Schema> read_schemas() {
  std::multimap<std::string, Schema> all;
  std::ifstream file(std::string(TENON_TEST_SOURCE) + "/tests/onnx/schemas.txt");
  for (std::string line; std::getline(file, line);) {
    const auto words = split(line, ' ');
    Schema one{.since = std::stol(words.at(1)), .deprecated = words.at(2) == "deprecated"};
    if (!one.deprecated) {
      one.min_inputs = count_of(words.at(2)), one.max_inputs = count_of(words.at(3));
      one.min_outputs = count_of(words.at(4)), one.max_outputs = count_of(words.at(5));
      one.inputs = split(words.at(6), ','), one.outputs = split(words.at(7), ',');
      for (const auto& variable : split(words.at(8), ';')) {
        const auto equal = variable.find('=');
        one.types[variable.substr(0, equal)] = split(variable.substr(equal + 1), ',');
      }
      for (std::size_t i = 9; i < words.size(); ++i) {
        auto kind = split(words[i], ':').at(1);
        const auto name = split(words[i], ':').at(0);
        if (kind.ends_with('!')) kind.pop_back(), one.required.push_back(name);
        one.attributes[name] = kind;
      }
    }
    all.emplace(words.at(0), one);
  }
  return all;
}

/// Null if the standard has no such operator in that opset.
inline const Schema* schema_of(std::string_view type, std::int64_t opset) {
  static const auto all = read_schemas();
  const Schema* newest = nullptr;
  const auto [first, last] = all.equal_range(std::string(type));
  for (auto at = first; at != last; ++at)
    if (at->second.since <= opset && (newest == nullptr || at->second.since > newest->since))
      newest = &at->second;
  return newest;
}

/// Checks a model's nodes and propagates element types from node to node.
class ModelCheck {
 public:
  explicit ModelCheck(const tenon::onnx::Model& model) : opset_(model.opset("")) {
    ElementTypes types;
    graph(model.graph, types);
    for (const auto& function : model.functions) {
      ElementTypes inside;
      for (const auto& node : function.nodes) check(node, inside);
    }
  }
  const Texts& faults() const { return faults_; }

 private:
  static DType dtype_of_number(std::int32_t number) {
    const auto* const type = tenon::onnx::element_type(number);
    return type == nullptr ? tenon::unknown_dtype : type->dtype;
  }
  static void declare(const proto::ValueInfo& value, ElementTypes& types) {
    if (value.type != nullptr) types[std::string(value.name)] = dtype_of_number(value.type->dtype);
  }
  void graph(const proto::Graph& graph, ElementTypes types) {
    for (const auto& tensor : graph.initializers)
      types[std::string(tensor.name)] = dtype_of_number(tensor.dtype);
    for (const auto& input : graph.inputs) declare(input, types);
    for (const auto& node : graph.nodes) check(node, types);
    for (const auto& output : graph.outputs) {
      const auto found = types.find(output.name);
      const auto said =
          output.type == nullptr ? tenon::unknown_dtype : dtype_of_number(output.type->dtype);
      if (found != types.end() && found->second != tenon::unknown_dtype &&
          said != tenon::unknown_dtype && found->second != said)
        faults_.push_back(fmt::format("output '{}' is {}, but its node makes {}", output.name,
                                      name_of(said), name_of(found->second)));
    }
  }

  template <class... Args>
  void fault(const proto::Node& node, fmt::format_string<Args...> text, Args&&... args) {
    faults_.push_back(fmt::format("{} '{}': {}", node.type, node.name,
                                  fmt::format(text, std::forward<Args>(args)...)));
  }

  void check(const proto::Node& node, ElementTypes& types) {
    for (const auto& attribute : node.attributes)
      if (const auto* const inner = std::get_if<const proto::Graph*>(&attribute.value))
        graph(**inner, types);
    if (!node.domain.empty()) return;
    const auto* const schema = schema_of(node.type, opset_);
    if (schema == nullptr || schema->deprecated)
      return fault(node, "opset {} has no such operator", opset_);
    if (node.inputs.size() < schema->min_inputs || node.inputs.size() > schema->max_inputs)
      fault(node, "{} inputs", node.inputs.size());
    if (node.outputs.size() < schema->min_outputs || node.outputs.size() > schema->max_outputs)
      fault(node, "{} outputs", node.outputs.size());
    for (std::size_t i = 0; i < std::min(schema->min_inputs, node.inputs.size()); ++i)
      if (node.inputs[i].empty()) fault(node, "input {} is left out", i);
    check_attributes(node, *schema);
    check_types(node, *schema, types);
  }

  void check_attributes(const proto::Node& node, const Schema& schema) {
    const char* const kinds[] = {"",      "float",  "int",  "string", "tensor",
                                 "graph", "floats", "ints", "strings"};
    for (const auto& attribute : node.attributes) {
      const auto known = schema.attributes.find(std::string(attribute.name));
      const auto kind = static_cast<std::size_t>(attribute.kind);
      if (known == schema.attributes.end())
        fault(node, "opset {} has no attribute '{}'", opset_, attribute.name);
      else if (kind >= std::size(kinds) || known->second != kinds[kind])
        fault(node, "its attribute '{}' is no {}", attribute.name, known->second);
    }
    for (const auto& name : schema.required)
      if (std::none_of(node.attributes.begin(), node.attributes.end(),
                       [&](const auto& one) { return one.name == name; }))
        fault(node, "its attribute '{}' is required", name);
  }

  void check_types(const proto::Node& node, const Schema& schema, ElementTypes& types) {
    std::map<std::string, DType> bound;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto found = types.find(node.inputs[i]);
      if (schema.inputs.empty() || found == types.end() || found->second == tenon::unknown_dtype)
        continue;
      auto variable = schema.inputs[std::min(i, schema.inputs.size() - 1)];
      const bool differ = variable.ends_with("**");
      variable = variable.substr(0, variable.find('*'));
      if (!allowed(schema, variable).empty() && !has(allowed(schema, variable), found->second))
        fault(node, "its input {} is {}, which opset {} does not take", i, name_of(found->second),
              opset_);
      const auto [at, added] = bound.emplace(variable, found->second);
      if (!added && !differ && variable[0] != '=' && at->second != found->second)
        fault(node, "its input {} is {}, and another one of the same type {}", i,
              name_of(found->second), name_of(at->second));
    }
    for (std::size_t i = 0; i < node.outputs.size() && !schema.outputs.empty(); ++i) {
      const auto& variable = schema.outputs[std::min(i, schema.outputs.size() - 1)];
      const auto only = variable.ends_with('*') ? Texts() : allowed(schema, variable);
      if (const auto at = bound.find(variable); at != bound.end())
        types[std::string(node.outputs[i])] = at->second;
      else if (only.size() == 1)
        types[std::string(node.outputs[i])] = dtype_of(only[0]);
    }
    for (const auto& attribute : node.attributes) {
      if (node.type == "Cast" && attribute.name == "to")
        types[std::string(node.outputs[0])] =
            dtype_of_number(static_cast<std::int32_t>(std::get<std::int64_t>(attribute.value)));
      if (node.type == "Constant" && attribute.name == "value")
        types[std::string(node.outputs[0])] =
            dtype_of_number(std::get<const proto::Tensor*>(attribute.value)->dtype);
    }
  }
  static Texts allowed(const Schema& schema, const std::string& variable) {
    if (variable[0] == '=') return split(variable.substr(1), ',');
    const auto found = schema.types.find(variable);
    return found == schema.types.end() ? Texts() : found->second;
  }
  static bool has(const Texts& allowed, DType dtype) {
    return std::any_of(allowed.begin(), allowed.end(),
                       [&](const std::string& name) { return dtype_of(name) == dtype; });
  }

  std::int64_t opset_;
  Texts faults_;
};

/// The faults of a file, one sentence each.
inline Texts faults_of(const std::filesystem::path& path) {
  const auto model = tenon::onnx::read_model(path);
  return ModelCheck(model).faults();
}

}  // namespace standard
