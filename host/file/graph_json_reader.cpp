#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tenon/catalog.hpp>
#include <tenon/visit.hpp>

#include "file/graph_json.hpp"
#include "file/graph_json_order.hpp"
#include "file/npy.hpp"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

template <class... Args>
[[noreturn]] void refuse(const std::string& where, fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(FailureKind::file, where + ": " + fmt::format(text, std::forward<Args>(args)...));
}

std::string line_and_column(std::string_view text, std::size_t byte) {
  const auto before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto last = before.rfind('\n');
  return fmt::format("line {}, column {}", line, before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1);
}

// The parser's own message repeats the position in its way; what follows the last colon is the reason.
[[noreturn]] void refuse_text(std::string_view text, const nlohmann::json::parse_error& error) {
  const std::string message = error.what();
  const auto reason = message.find("syntax error");
  refuse(line_and_column(text, error.byte), "this is no JSON: {}", reason == std::string::npos ? message : message.substr(reason));
}

// A key that stands twice would silently win or lose.
Json parse(std::string_view text) {
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      refuse("graph.json", "key '{}' stands twice in one object", parsed.get<std::string>());
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const nlohmann::json::parse_error& error) {
    refuse_text(text, error);
  }
}

void check_keys(const std::string& where, const Json& json, const std::vector<std::string>& known) {
  if (!json.is_object()) refuse(where, "is {} but must be an object", json.type_name());
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto near = near_names(key, known);
    throw Failure(FailureKind::file, fmt::format("{}: there is no key '{}'", where, key),
                  near.empty() ? fmt::format("the keys are {}", fmt::join(known, ", ")) : fmt::format("did you mean '{}'?", near.front()));
  }
}

double number(const std::string& where, const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  refuse(where, "is {} but must be a number", json.type_name());
}

std::int64_t whole(const std::string& where, const Json& json) {
  if (!json.is_number_integer() || (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX))
    refuse(where, "is {} but must be a whole number of 64 bits", json.dump());
  return json.get<std::int64_t>();
}

std::string text(const std::string& where, const Json& json) {
  if (!json.is_string()) refuse(where, "is {} but must be text", json.type_name());
  return json.get<std::string>();
}

std::uint8_t dtype(const std::string& where, const Json& json) {
  const auto name = text(where, json);
  std::vector<std::string> names;
  for (std::uint8_t i = 0; i < TENON_DTYPE_COUNT; ++i) {
    names.emplace_back(name_of(static_cast<DType>(i)));
    if (names.back() == name) return i;
  }
  refuse(where, "is '{}' but must be one of {}", name, fmt::join(names, ", "));
}

tenon_type type(const std::string& where, const Json& json) {
  auto type = unknown_type();
  if (json.contains("dtype")) type.dtype = dtype(where + ".dtype", json["dtype"]);
  if (!json.contains("shape")) return type;
  const auto& shape = json["shape"];
  if (!shape.is_array() || shape.size() > TENON_MAX_RANK) refuse(where + ".shape", "must be a list of at most 8 dimensions");
  type.rank = static_cast<std::int32_t>(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    type.dims[axis] = whole(fmt::format("{}.shape[{}]", where, axis), shape[axis]);
    if (type.dims[axis] < -1) refuse(where + ".shape", "has dimension {}; unknown is -1", type.dims[axis]);
  }
  return type;
}

Init init(const std::string& where, const Json& json) {
  static const std::vector<std::pair<std::string, Init::Kind>> words{
      {"zeros", Init::Kind::zeros}, {"ones", Init::Kind::ones}, {"xavier", Init::Kind::xavier}, {"he", Init::Kind::he}};
  for (const auto& [word, kind] : words)
    if (json == word) return {kind};
  if (json.is_object() && json.size() == 1) {
    const auto& key = json.begin().key();
    const auto& value = json.begin().value();
    if (key == "value") return {Init::Kind::value, number(where + ".value", value)};
    if ((key == "uniform" || key == "normal") && value.is_array() && value.size() == 2)
      return {key == "uniform" ? Init::Kind::uniform : Init::Kind::normal, number(where, value[0]), number(where, value[1])};
  }
  refuse(where, R"(is {} but must be zeros, ones, xavier, he, {{"uniform": [a, b]}}, {{"normal": [mean, sd]}} or {{"value": v}})",
         json.dump());
}

template <class T>
void fill(const std::string& where, const Json& list, Tensor& tensor) {
  auto elements = tensor.values<T>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!list[i].is_boolean()) refuse(where, "element {} must be true or false", i);
      elements[i] = list[i].template get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      const auto value = whole(where, list[i]);
      if (value < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
          value > static_cast<std::int64_t>(std::numeric_limits<T>::max()))
        refuse(where, "element {} is {}, which {} cannot hold", i, value, name_of(dtype_of<T>));
      elements[i] = static_cast<T>(value);
    } else if constexpr (std::is_same_v<T, double>) {
      elements[i] = number(where, list[i]);
    } else {
      elements[i] = static_cast<T>(static_cast<float>(number(where, list[i])));
    }
  }
}

Tensor values(const std::string& where, const tenon_type& type, const Json& list) {
  if (!is_known(type)) refuse(where, "values need a dtype and a shape without unknown dimensions");
  if (!list.is_array() || static_cast<std::int64_t>(list.size()) != element_count(type))
    refuse(where, "has {} values but {} needs {}", list.size(), to_string(type), element_count(type));
  auto tensor = Tensor::empty(static_cast<DType>(type.dtype), shape_of(type));
  visit(tensor.dtype(), [&]<class T>() { fill<T>(where, list, tensor); });
  return tensor;
}

class Reader {
 public:
  Reader(const std::filesystem::path& folder, GraphModel& model, GraphBuilder& builder, const Catalog& catalog)
      : folder_(folder), model_(model), builder_(builder), catalog_(catalog) {}

  void read(const Json& json) {
    check_keys("graph.json", json, {"tenon", "inputs", "variables", "states", "constants", "nodes", "outputs"});
    if (!json.contains("tenon") || json["tenon"] != 1) refuse("tenon", "must be 1, the version of this form");
    for (const auto& [name, input] : part(json, "inputs").items()) {
      const auto where = "inputs." + name;
      check_keys(where, input, {"dtype", "shape"});
      builder_.input(name, type(where, input));
    }
    for (const auto& [key, role] : {std::pair{"variables", Role::variable}, {"states", Role::state}, {"constants", Role::constant}})
      for (const auto& [name, value] : part(json, key).items()) read_value(std::string(key) + '.' + name, name, role, value);
    if (json.contains("nodes")) read_nodes(json["nodes"]);
    for (const auto& [name, value] : part(json, "outputs").items())
      builder_.output(name, find_value(model_, text("outputs." + name, value)));
    builder_.complete();
  }

 private:
  static const Json& part(const Json& json, const std::string& key) {
    static const Json nothing = Json::object();
    if (!json.contains(key)) return nothing;
    if (!json[key].is_object()) refuse(key, "is {} but must be an object", json[key].type_name());
    return json[key];
  }

  void read_value(const std::string& where, const std::string& name, Role role, const Json& json) {
    check_keys(where, json, {"dtype", "shape", "init", "npy", "values"});
    if (json.contains("npy") && json.contains("values")) refuse(where, "has both npy and values");
    const auto declared = type(where, json);
    const auto how = json.contains("init") ? init(where + ".init", json["init"]) : Init{};
    Tensor tensor;
    if (json.contains("npy")) tensor = read_npy(folder_ / text(where + ".npy", json["npy"]));
    if (json.contains("values")) tensor = values(where + ".values", declared, json["values"]);
    if (!tensor && role == Role::constant) refuse(where, "a constant needs npy or values");
    const auto id = tensor ? builder_.tensor(name, role, tensor) : builder_.unset(name, role, declared);
    model_.values[id].init = how;
    auto known = model_.values[id].type;
    if (merge(known, declared) == Merge::contradiction)
      refuse(where, "is declared as {} but its file has {}", to_string(declared), to_string(known));
  }

  void read_nodes(const Json& nodes) {
    if (!nodes.is_array()) refuse("nodes", "is {} but must be a list", nodes.type_name());
    std::vector<NamedReads> reads;
    for (std::size_t i = 0; i < nodes.size(); ++i) reads.push_back(names_in(fmt::format("nodes[{}]", i), nodes[i]));
    check_operators(nodes, reads);
    for (const auto i : order_of(reads)) add_node("nodes." + reads[i].name, reads[i].name, nodes[i]);
  }

  NamedReads names_in(const std::string& where, const Json& node) {
    check_keys(where, node, {"name", "op", "inputs", "attrs", "device"});
    for (const auto* key : {"name", "op"})
      if (!node.contains(key)) refuse(where, "has no {}", key);
    NamedReads reads{text(where + ".name", node["name"]), {}};
    text(where + ".op", node["op"]);
    if (!names_.insert(reads.name).second) refuse(where, "there is already a node named '{}'", reads.name);
    if (!node.contains("inputs")) return reads;
    if (!node["inputs"].is_structured()) refuse(where + ".inputs", "is {} but must be a list or an object", node["inputs"].type_name());
    for (const auto& input : node["inputs"]) {
      if (input.is_null()) continue;
      const auto label = text(where + ".inputs", input);
      reads.reads.push_back(label.substr(0, label.find(':')));
    }
    return reads;
  }

  // All that are missing at once: one trip to fetch plugins, not many.
  void check_operators(const Json& nodes, const std::vector<NamedReads>& reads) const {
    std::set<std::string> missing;
    std::vector<std::string> lines, near;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto op = nodes[i]["op"].get<std::string>();
      if (catalog_.find(op) != nullptr || !missing.insert(op).second) continue;
      const auto why = catalog_.why_missing(op);
      lines.push_back(fmt::format("{} (node '{}'){}", op, reads[i].name, why.empty() ? "" : "; " + why));
      for (const auto& name : catalog_.near(op)) near.push_back(name);
    }
    if (missing.empty()) return;
    std::vector<std::string> folders;
    for (const auto& folder : catalog_.searched()) folders.push_back(folder.string());
    throw Failure(FailureKind::plugin,
                  fmt::format("no plugin has operator {}; searched in {}", fmt::join(lines, ", "),
                              folders.empty() ? "no folder" : fmt::format("{}", fmt::join(folders, ", "))),
                  near.empty() ? "name the plugin's folder with --plugins" : fmt::format("did you mean {}?", fmt::join(near, " or ")));
  }

  void add_node(const std::string& where, const std::string& name, const Json& node) {
    const auto op = node["op"].get<std::string>();
    const auto device = node.contains("device") ? text(where + ".device", node["device"]) : "";
    Attributes attributes;
    if (node.contains("attrs")) {
      if (!node["attrs"].is_object()) refuse(where + ".attrs", "is {} but must be an object", node["attrs"].type_name());
      for (const auto& [key, value] : node["attrs"].items()) attributes.set(key, attribute(where + ".attrs." + key, value));
    }
    NodeSpec spec{.op = op, .name = name, .inputs = {}, .named_inputs = {}, .attributes = attributes, .device = device};
    if (node.contains("inputs")) {
      for (const auto& [key, value] : node["inputs"].items()) {
        const auto id = value.is_null() ? none : find_value(model_, value.get<std::string>());
        if (node["inputs"].is_array())
          spec.inputs.push_back(id);
        else
          spec.named_inputs.emplace_back(key, id);
      }
    }
    builder_.node(spec);
  }

  static AttributeValue attribute(const std::string& where, const Json& json) {
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_float()) return json.get<double>();
    if (json.is_number_integer()) return whole(where, json);
    if (json.is_string()) return json.get<std::string>();
    if (!json.is_array()) refuse(where, "is {} but must be true, false, a number, text or a list of numbers", json.type_name());
    if (std::all_of(json.begin(), json.end(), [](const Json& item) { return item.is_number_integer(); })) {
      std::vector<std::int64_t> list;
      for (const auto& item : json) list.push_back(whole(where, item));
      return list;
    }
    std::vector<double> list;
    for (const auto& item : json) list.push_back(number(where, item));
    return list;
  }

  const std::filesystem::path& folder_;
  GraphModel& model_;
  GraphBuilder& builder_;
  const Catalog& catalog_;
  std::set<std::string> names_;
};

}  // namespace

void read_graph_json(std::string_view text, const std::filesystem::path& folder, GraphModel& model, GraphBuilder& builder,
                     const Catalog& catalog) {
  Reader(folder, model, builder, catalog).read(parse(text));
}

}  // namespace tenon
