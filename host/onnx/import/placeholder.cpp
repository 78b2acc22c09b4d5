#include "onnx/import/placeholder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tenon/host/udf.hpp>

#include "graph/inference/type.hpp"
#include "graph/parameters.hpp"
#include "io/utf8.hpp"
#include "onnx/dtype.hpp"
#include "onnx/import/node_import.hpp"
#include "plugin/operator_name.hpp"

namespace tenon::onnx {
namespace {

using Json = nlohmann::json;

std::string parameter_kind(NodeImport& node, const proto::Attribute& attribute,
                           const AttributeValue& value) {
  if (std::holds_alternative<std::int64_t>(value.variant())) return "int64";
  if (std::holds_alternative<double>(value.variant())) return "float64";
  if (std::holds_alternative<std::string>(value.variant())) return "text";
  if (std::holds_alternative<std::vector<std::int64_t>>(value.variant())) return "ints";
  if (std::holds_alternative<std::vector<double>>(value.variant())) return "floats";
  if (std::holds_alternative<std::vector<std::string>>(value.variant())) return "texts";
  if (const auto* tensor = std::get_if<Tensor>(&value.variant());
      tensor != nullptr && table_types.has(tensor->dtype()))
    return "tensor";
  node.refuse(fmt::format(
      "its attribute '{}' has a type that parameters do not support, so the node cannot be kept",
      attribute.name));
}

Json empty_default(const std::string& kind) {
  if (kind == "int64") return 0;
  if (kind == "float64") return 0.0;
  if (kind == "text") return "";
  return Json::array();
}

/// Contents shared by a node's form and manifest.
struct ManifestFields {
  Json inputs = Json::array(), outputs = Json::array(), params = Json::array(),
       attributes = Json::array();
  bool new_kinds = false;  // parameter kinds that hosts older than 0.2 do not support
  std::set<std::string> taken{};

  std::string name_for(const std::string& base) {
    auto name = base;
    for (int i = 1; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    return name;
  }
};

Json every_dtype() {
  auto all = Json::array();
  for (int i = 0; i < dtype_count; ++i) all.push_back(name_of(static_cast<DType>(i)));
  return all;
}

// Attributes come first, so that they keep their names if possible.
ManifestFields manifest_fields(NodeImport& node) {
  ManifestFields fields;
  for (const auto& attribute : node.node().attributes) {
    const auto* found = node.attribute(attribute.name);
    const auto value = found == nullptr ? std::nullopt : node.value_of(*found);
    if (found == nullptr) continue;
    if (!value)
      node.refuse(
          fmt::format("its attribute '{}' has a type that parameters do not support, so the node "
                      "cannot be kept",
                      attribute.name));
    const auto kind = parameter_kind(node, attribute, *value);
    const auto name =
        fields.name_for(is_identifier(attribute.name) ? std::string(attribute.name) : "attribute");
    Json param{{"name", name},     {"doc", ""},
               {"kind", kind},     {"default", empty_default(kind)},
               {"required", true}, {"min", nullptr},
               {"max", nullptr},   {"above", nullptr},
               {"below", nullptr}, {"choices", Json::array()}};
    if (kind == "tensor") param["dtype"] = name_of(std::get<Tensor>(value->variant()).dtype());
    fields.new_kinds = fields.new_kinds || kind == "tensor" || kind == "texts";
    fields.params.push_back(std::move(param));
    fields.attributes.push_back({std::string(attribute.name), name});
  }
  for (std::size_t i = 0; i < node.inputs(); ++i)
    fields.inputs.push_back({{"name", fields.name_for(fmt::format("input_{}", i))},
                             {"doc", ""},
                             {"optional", true},
                             {"variadic", false},
                             {"types", every_dtype()},
                             {"initial", nullptr},
                             {"weight", false}});
  for (std::size_t i = 0; i < node.node().outputs.size(); ++i)
    fields.outputs.push_back({{"name", fields.name_for(fmt::format("output_{}", i))},
                              {"doc", ""},
                              {"hidden", false},
                              {"count", nullptr}});
  return fields;
}

}  // namespace

std::uint32_t Placeholders::operator_for(NodeImport& node) {
  const auto& at = node.node();
  if (at.outputs.empty()) node.refuse("it has no outputs, so it cannot be kept");
  const auto fields = manifest_fields(node);
  const auto full =
      at.domain.empty() ? std::string(at.type) : fmt::format("{}::{}", at.domain, at.type);
  if (!is_plain_text(full)) node.refuse("its name is not plain text, so the node cannot be kept");
  Json manifest{{"tenon", fields.new_kinds ? 2 : 1},
                {"doc", fmt::format("ONNX operator {}, kept without an implementation.", full)},
                {"version", std::max<std::int64_t>(1, node.version())},
                {"space", at.domain.empty() ? "onnx" : space_of_plugin(at.domain)},
                {"types", every_dtype()},
                {"inputs", fields.inputs},
                {"outputs", fields.outputs},
                {"params", fields.params}};
  for (const char* none_of : {"aliases", "states", "inplace", "backward_inplace", "backward_reads",
                              "functions", "renamed", "added"})
    manifest[none_of] = Json::array();
  for (const char* flag : {"accumulates", "strides", "random", "elementwise", "kernels_elsewhere"})
    manifest[flag] = false;
  if (fields.new_kinds) manifest["needs"] = {"parameters"};
  Json form{{"domain", at.domain},
            {"type", at.type},
            {"since", manifest["version"]},
            {"attributes", fields.attributes}};
  manifest["onnx"] = Json::array({std::move(form)});
  const auto key = manifest.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (const auto found = by_manifest_.find(key); found != by_manifest_.end()) return found->second;

  auto name = space_of_plugin(internal::snake_case(at.type));
  if (const auto before = names_[manifest["space"].get<std::string>() + '.' + name]++; before > 0)
    name += fmt::format("_{}", before + 1);
  manifest["name"] = name;
  const auto bytes = Json::to_cbor(manifest);
  static const tenon_operator no_code{};
  auto& made = operators_.emplace_back();
  made.info = std::make_shared<const OperatorInfo>(read_manifest(std::as_bytes(std::span(bytes))));
  made.table = &no_code;
  model_.operators.push_back({.name = name, .version = made.info->version, .info = made.info});
  binding_.operators.push_back(&made);
  return by_manifest_.emplace(key, static_cast<std::uint32_t>(model_.operators.size() - 1))
      .first->second;
}

std::vector<ValueId> Placeholders::add(NodeImport& node, const std::string& name,
                                       const std::vector<ValueId>& inputs,
                                       const std::vector<tenon_type>& types) {
  NodeRecord record;
  record.op = operator_for(node);
  const auto& op = *binding_.operators[record.op];
  record.name = model_.strings.intern(name.empty() ? free_name(model_, op.info->name) : name);
  Attributes attributes;
  for (const auto& entry : op.info->onnx[0].attributes)
    if (const auto* found = node.attribute(entry.name))
      attributes.set(entry.param, *node.value_of(*found));
  add_parameters(model_, record, *op.info, attributes);
  record.first_edge = static_cast<std::uint32_t>(model_.edges.size());
  record.input_count = static_cast<std::uint32_t>(inputs.size());
  model_.edges.insert(model_.edges.end(), inputs.begin(), inputs.end());
  record.first_output = static_cast<std::uint32_t>(model_.values.size());
  record.output_count = static_cast<std::uint32_t>(types.size());
  const auto id = static_cast<NodeId>(model_.nodes.size());
  std::vector<ValueId> made;
  for (std::uint32_t i = 0; i < record.output_count; ++i) {
    made.push_back(static_cast<ValueId>(model_.values.size()));
    auto& value = model_.values.emplace_back();
    value.role = Role::output, value.type = types[i], value.producer = id, value.index = i;
  }
  model_.nodes.push_back(record);
  model_.node_names.add(record.name, id);
  binding_.nodes.push_back({&op, std::make_shared<const Instance>(), op.info});
  return made;
}

// If the type of a value is unknown, the nodes that read it cannot be interpreted either.
bool Importer::reads_placeholder(const proto::Node& node) {
  if (placeholders_.empty()) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](std::string_view name) {
    const auto* found = name.empty() ? nullptr : find_or_read(name);
    if (found == nullptr || found->value == none) return false;
    const auto& type = builder_.model().values[found->value].type;
    return type.dtype == TENON_DTYPE_UNKNOWN || type.rank < 0;
  });
}

// The type that the model declares, which may be wrong; binding the graph detects that.
tenon_type Importer::declared_type(std::string_view name) const {
  const auto search = [&](List<proto::ValueInfo> values) {
    const auto* found =
        std::find_if(values.begin(), values.end(),
                     [&](const proto::ValueInfo& value) { return value.name == name; });
    return found == values.end() ? nullptr : found->type;
  };
  const auto* declared =
      search(function_ != nullptr ? function_->value_infos : model_.graph.value_infos);
  if (declared == nullptr && function_ == nullptr) declared = search(model_.graph.outputs);
  const auto* element = declared == nullptr || declared->kind != proto::TypeKind::tensor
                            ? nullptr
                            : element_type(declared->dtype);
  if (element == nullptr || element->dtype == unknown_dtype) return unknown_type();
  Shape shape;
  if (declared->has_shape && declared->dims.size() <= max_rank) {
    std::vector<std::int64_t> dims;
    for (const auto& dim : declared->dims) dims.push_back(dim.size);
    shape = Shape(dims.data(), static_cast<int>(dims.size()));
  }
  const auto type = tenon::type_of(element->dtype, shape);
  return is_sound(type) ? type : unknown_type();
}

void Importer::keep_as_placeholder(NodeImport& node) {
  const auto& at = node.node();
  std::vector<ValueId> inputs;
  for (const auto input : at.inputs) inputs.push_back(input.empty() ? none : value_of(find(input)));
  std::vector<tenon_type> types;
  for (const auto output : at.outputs)
    types.push_back(output.empty() ? unknown_type() : declared_type(output));
  const auto made =
      placeholders_.add(node, at.name.empty() ? std::string() : free_name(at.name), inputs, types);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (!at.outputs[i].empty()) scope_.insert_or_assign(at.outputs[i], Operand{made[i], {}, {}});
  note(fmt::format("{}{}{} nodes are kept without an implementation", at.domain,
                   at.domain.empty() ? "" : "::", at.type));
}

}  // namespace tenon::onnx
