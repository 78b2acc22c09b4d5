#include "cli/print/json_text.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <tenon/visit.hpp>

#include "plan/memory/memory_use.hpp"
#include "plan/plan.hpp"
#include "plugin/discovery/manifest_parts.hpp"

namespace tenon::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string print(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json to_json(const AttributeValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value.variant());
}

Json to_json(const std::optional<double>& bound) {
  return bound ? Json(*bound) : Json();
}

Json to_json(const ParamInfo& param) {
  return {{"name", param.name},
          {"doc", param.doc},
          {"kind", kind_name(param.kind)},
          {"default", to_json(param.default_value)},
          {"required", param.required},
          {"min", to_json(param.min)},
          {"max", to_json(param.max)},
          {"above", to_json(param.above)},
          {"below", to_json(param.below)},
          {"choices", param.choices}};
}

Json to_json(const OperatorInfo& info) {
  Json json{{"name", info.name}, {"doc", info.doc}, {"version", info.version}, {"aliases", info.aliases}, {"types", names_of(info.types)}};
  for (const auto* list : {"inputs", "outputs", "states", "params", "inplace"}) json[list] = Json::array();
  for (const auto& input : info.inputs)
    json["inputs"].push_back({{"name", input.name},
                              {"doc", input.doc},
                              {"optional", input.optional},
                              {"variadic", input.variadic},
                              {"types", input.types ? Json(names_of(*input.types)) : Json()},
                              {"initial", input.initial ? Json(*input.initial) : Json()}});
  for (const auto& output : info.outputs)
    json["outputs"].push_back({{"name", output.name}, {"doc", output.doc}, {"hidden", output.hidden}, {"count", output.count}});
  for (const auto& state : info.states) json["states"].push_back({{"name", state.name}, {"doc", state.doc}, {"initial", state.initial}});
  for (const auto& param : info.params) json["params"].push_back(to_json(param));
  for (const auto& [input, output] : info.inplace)
    json["inplace"].push_back({info.inputs[static_cast<std::size_t>(input)].name, info.outputs[static_cast<std::size_t>(output)].name});
  json["accumulates"] = info.accumulates;
  json["strides"] = info.strides;
  json["random"] = info.random;
  json["elementwise"] = info.elementwise;
  json["kernels_elsewhere"] = info.kernels_elsewhere;
  json["functions"] = info.functions;
  return json;
}

Json to_json(const PluginFile& file) {
  Json json{{"path", file.path.string()},  {"status", name_of(file.status)},  {"reason", file.reason},
            {"name", file.name},           {"version", file.version},         {"compiler", file.compiler},
            {"abi_minor", file.abi_minor}, {"sdk_version", file.sdk_version}, {"cuda_version", file.cuda_version},
            {"operators", file.operators}};
  json["kernels"] = Json::array();
  for (const auto& kernel : file.kernels) json["kernels"].push_back({{"op", kernel.op}, {"device", kernel.device}});
  return json;
}

template <class T>
Json values_of(const Tensor& tensor) {
  auto values = Json::array();
  for (const auto& value : tensor.values<T>()) {
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>)
      values.push_back(static_cast<float>(value));
    else
      values.push_back(value);
  }
  return values;
}

Json to_json(const Plan& plan, std::size_t step) {
  static constexpr const char* writes[] = {"none", "to", "in_place", "add"};  // enum tenon_write
  const auto& model = plan.model();
  const auto& node = model.nodes[plan.node_of(step)];
  Json json{{"node", model.strings[node.name]},
            {"op", work_label(model, node)},
            {"device", plan.device_of(step).name()},
            {"captured", plan.captures(step)},
            {"sparse_kernel", plan.runs_sparse(step)}};
  if (const auto* from = plan.copied_from(step); from != nullptr) {
    const auto& type = plan.types()[node.first_output];
    json["from"] = from->name();
    json["bytes"] = type.storage == TENON_DENSE ? Json(byte_count(type)) : Json();
  }
  json["outputs"] = Json::array();
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    const auto value = node.first_output + i;
    const auto& type = plan.types()[value];
    const auto offset = plan.offset_of(value);
    json["outputs"].push_back({{"value", value_label(model, value)},
                               {"dtype", name_of(static_cast<DType>(type.dtype))},
                               {"shape", std::vector<std::int64_t>(type.dims, type.dims + std::max<int>(type.rank, 0))},
                               {"storage", name_of(static_cast<Storage>(type.storage))},
                               {"offset", offset < 0 ? Json() : Json(offset)},
                               {"write", writes[plan.write(step, i)]}});
  }
  json["workspace"] = plan.workspace_of(step);
  return json;
}

Json to_json(const MemoryUse& use, const MemoryPlan& plan) {
  return {{"name", use.name},           {"device", plan.arenas[use.arena].device->name()},
          {"workspace", use.workspace}, {"bytes", use.bytes},
          {"offset", use.offset},       {"first", use.first},
          {"last", use.last},           {"in_place_of", use.in_place_of.empty() ? Json() : Json(use.in_place_of)}};
}

}  // namespace

std::vector<std::string_view> names_of(DTypeMask mask) {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i)
    if (allows(mask, static_cast<DType>(i))) names.emplace_back(name_of(static_cast<DType>(i)));
  return names;
}

JsonItem::JsonItem(std::string_view value) : text(Json(value).dump(-1, ' ', false, Json::error_handler_t::replace)) {}

JsonItem::JsonItem(double value) : text(std::isfinite(value) ? fmt::to_string(value) : "null") {}

JsonItem json_members(std::initializer_list<JsonItem> keys_and_values) {
  JsonItem object;
  object.text = "{";
  for (const auto* key = keys_and_values.begin(); key != keys_and_values.end(); key += 2)
    if (const auto& value = key[1]; !value.text.empty()) object.text += (object.text == "{" ? "" : ", ") + key->text + ": " + value.text;
  object.text += '}';
  return object;
}

JsonItem json_list(const std::vector<JsonItem>& items) {
  JsonItem list;
  for (const auto& item : items) list.text += (list.text.empty() ? "[\n  " : ",\n  ") + item.text;
  list.text += items.empty() ? "[]" : "\n]";
  return list;
}

void print(const JsonItem& item) {
  fmt::print("{}\n", item.text);
}

std::string json_text(const Failure& failure) {
  Json json{{"error", failure.what()}, {"exit_code", static_cast<int>(failure.kind())}};
  if (!failure.hint().empty()) json["hint"] = failure.hint();
  return print(json);
}

std::string json_text(const OperatorInfo& info) {
  return print(to_json(info));
}
std::string json_text(const PluginFile& file) {
  return print(to_json(file));
}

std::string json_text(const Catalog& catalog) {
  Json json{{"operators", Json::array()}, {"files", Json::array()}, {"notes", catalog.notes()}, {"searched", Json::array()}};
  for (const auto& op : catalog.operators()) {
    auto entry = to_json(op.info);
    if (op.file >= 0) entry["file"] = catalog.files()[static_cast<std::size_t>(op.file)].path.string();
    json["operators"].push_back(std::move(entry));
  }
  for (const auto& file : catalog.files()) json["files"].push_back(to_json(file));
  for (const auto& folder : catalog.searched()) json["searched"].push_back(folder.string());
  return print(json);
}

std::string json_text(const Plan& plan) {
  Json json{{"steps", Json::array()}, {"memory", Json::array()}, {"devices", Json::array()}};
  for (std::size_t step = 0; step < plan.steps().size(); ++step) json["steps"].push_back(to_json(plan, step));
  for (const auto& use : memory_uses(plan.model(), plan.memory())) json["memory"].push_back(to_json(use, plan.memory()));
  for (const auto& [device, placement] : plan.memory().arenas)
    json["devices"].push_back({{"device", device->name()},
                               {"bytes", placement.bytes},
                               {"lower_bound", placement.lower_bound},
                               {"ratio", placement.ratio()},
                               {"strategy", name_of(placement.strategy)}});
  json["bytes"] = plan.memory().bytes();
  return print(json);
}

std::string json_text(const NamedTensors& tensors) {
  constexpr std::int64_t most_values = 4096;
  auto json = Json::object();
  for (const auto& [name, tensor] : tensors) {
    const auto shape = tensor.shape();
    Json entry{{"dtype", name_of(tensor.dtype())}, {"shape", std::vector<std::int64_t>(shape.begin(), shape.end())}};
    const auto add = [&entry](const char* key, const Tensor& part) {
      if (part.size() <= most_values)
        entry[key] = visit(part.dtype(), [contiguous = part.make_contiguous()]<class T>() { return values_of<T>(contiguous); });
    };
    if (tensor.storage() != Storage::dense) entry["storage"] = name_of(tensor.storage());
    add("values", tensor.stored_values());
    if (tensor.storage() == Storage::csr) add("columns", tensor.columns()), add("row_starts", tensor.row_starts());
    if (tensor.storage() == Storage::row_sparse) add("row_ids", tensor.row_ids());
    json[name] = std::move(entry);
  }
  return print(json);
}

}  // namespace tenon::cli
