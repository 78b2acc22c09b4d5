#include "cli/print/json_text.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <tenon/visit.hpp>

namespace tenon::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string print(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json to_json(const AttributeValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value.variant());
}

Json to_json(ParamKind kind) {
  return kind_name(kind);
}

Json to_json(DTypeMask types) {
  return names_of(types);
}

template <class T>
constexpr bool has_fields = std::is_same_v<T, OperatorInfo> || std::is_same_v<T, InputInfo> || std::is_same_v<T, OutputInfo> ||
                            std::is_same_v<T, StateInfo> || std::is_same_v<T, ParamInfo>;

template <class T>
Json to_json(const T& value) {
  if constexpr (has_fields<T>) {
    auto json = Json::object();
    T::each_field(value, [&](const char* key, const auto& member, auto&&...) { json[key] = to_json(member); });
    return json;
  } else if constexpr (requires { value.front(); } && !std::is_same_v<T, std::string>) {
    auto json = Json::array();
    for (const auto& item : value) json.push_back(to_json(item));
    return json;
  } else if constexpr (requires { value.has_value(); }) {
    return value ? to_json(*value) : Json();
  } else {
    return value;
  }
}

Json describe(const OperatorInfo& info) {
  auto json = to_json(info);
  json["inplace"] = Json::array();
  for (const auto& [input, output] : info.inplace)
    json["inplace"].push_back({info.inputs[static_cast<std::size_t>(input)].name, info.outputs[static_cast<std::size_t>(output)].name});
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

Json to_json(const PlannedStep& step) {
  static constexpr const char* writes[] = {"none", "to", "in_place", "add"};  // enum Write
  Json json{{"node", step.node}, {"op", step.op}, {"device", step.device}, {"captured", step.captured}, {"sparse_kernel", step.sparse}};
  if (!step.copied_from.empty()) {
    json["from"] = step.copied_from;
    json["bytes"] = step.copied < 0 ? Json() : Json(step.copied);
  }
  json["outputs"] = Json::array();
  for (const auto& output : step.outputs)
    json["outputs"].push_back({{"value", output.value},
                               {"dtype", name_of(output.dtype)},
                               {"shape", std::vector<std::int64_t>(output.shape.begin(), output.shape.end())},
                               {"storage", name_of(output.storage)},
                               {"offset", output.offset < 0 ? Json() : Json(output.offset)},
                               {"write", writes[static_cast<int>(output.write)]}});
  json["workspace"] = step.workspace;
  return json;
}

Json to_json(const MemoryUse& use, const PlanInfo& plan) {
  return {{"name", use.name},           {"device", plan.arenas[use.arena].device},
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
  object.text.push_back('{');
  for (const auto* key = keys_and_values.begin(); key != keys_and_values.end(); key += 2)
    if (const auto& value = key[1]; !value.text.empty())
      object.text += (object.text.size() == 1 ? "" : ", ") + key->text + ": " + value.text;
  object.text += '}';
  return object;
}

JsonItem json_list(const std::vector<JsonItem>& items) {
  JsonItem list;
  for (const auto& item : items) list.text += (list.text.empty() ? "[\n  " : ",\n  ") + item.text;
  list.text += items.empty() ? "[]" : "\n]";
  return list;
}

std::optional<std::uint64_t> json_count(const std::string& object, const std::string& key) {
  const auto json = Json::parse(object, nullptr, false);
  if (!json.is_object()) return {};
  const auto found = json.find(key);
  return found == json.end() || !found->is_number_unsigned() ? std::nullopt : std::optional(found->get<std::uint64_t>());
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
  return print(describe(info));
}
std::string json_text(const PluginFile& file) {
  return print(to_json(file));
}

std::string json_text(const Catalog& catalog) {
  Json json{{"operators", Json::array()}, {"files", Json::array()}, {"notes", catalog.notes()}, {"searched", Json::array()}};
  for (const auto& op : catalog.operators()) {
    auto entry = describe(op.info);
    if (op.file >= 0) entry["file"] = catalog.files()[static_cast<std::size_t>(op.file)].path.string();
    json["operators"].push_back(std::move(entry));
  }
  for (const auto& file : catalog.files()) json["files"].push_back(to_json(file));
  for (const auto& folder : catalog.searched()) json["searched"].push_back(folder.string());
  return print(json);
}

std::string json_text(const PlanInfo& plan) {
  Json json{{"steps", Json::array()}, {"memory", Json::array()}, {"devices", Json::array()}};
  for (const auto& step : plan.steps) json["steps"].push_back(to_json(step));
  for (const auto& use : plan.memory) json["memory"].push_back(to_json(use, plan));
  for (const auto& arena : plan.arenas)
    json["devices"].push_back({{"device", arena.device},
                               {"bytes", arena.bytes},
                               {"lower_bound", arena.lower_bound},
                               {"ratio", arena.ratio()},
                               {"strategy", arena.strategy}});
  json["bytes"] = plan.bytes();
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
