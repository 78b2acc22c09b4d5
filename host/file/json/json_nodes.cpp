#include "file/json/json_nodes.hpp"

#include <algorithm>
#include <unordered_map>

#include "file/json/json_tensor.hpp"
#include "io/json_text.hpp"
#include "plugin/operator_history.hpp"

namespace tenon {
namespace {

void add_input(JsonNode& node, std::string_view name, const JsonField& field) {
  if (field.is_null()) {
    node.inputs.emplace_back(name, std::nullopt);
    return;
  }
  field.text("an input");
  node.inputs.emplace_back(name, field);
}

void read_inputs(JsonNode& node, const JsonField& inputs) {
  const auto what = fmt::format("'inputs' of node '{}'", node.name);
  if (inputs.get<JsonValue::List>() != nullptr) {
    for (const auto& input : inputs.list(what)) add_input(node, {}, input);
    return;
  }
  if (inputs.get<JsonValue::Object>() == nullptr)
    inputs.refuse("{} must be a list, or an object with the inputs' names", what);
  for (const auto& entry : inputs.object(what)) {
    if (entry.value.get<JsonValue::List>() == nullptr) {
      add_input(node, entry.key, entry.value);
      continue;
    }
    for (const auto& input : entry.value.list(what)) add_input(node, entry.key, input);
  }
}

JsonNode read_node(const JsonField& field) {
  field.object("a node",
               {"name", "op", "inputs", "attrs", "device", "backward", "recompute", "again"});
  JsonNode node{
      field, field.need("name", "a node").text("a node's name"), {}, {}, {}, {}, Pass::forward, {}};
  const auto what = fmt::format("node '{}'", node.name);
  node.op = field.need("op", what).text(fmt::format("the operator of {}", what));
  if (const auto device = field.find("device"))
    node.device = device->text(fmt::format("the device of {}", what));
  if (const auto inputs = field.find("inputs")) read_inputs(node, *inputs);
  node.attributes = field.find("attrs");
  const char* pass_key = nullptr;
  // Version 0.1 wrote `again` for `recompute`.
  for (const auto& [key, pass] :
       {std::pair("backward", Pass::backward), std::pair("recompute", Pass::recompute),
        std::pair("again", Pass::recompute)}) {
    const auto origin = field.find(key);
    if (!origin) continue;
    if (node.origin) field.refuse("{} cannot be both '{}' and '{}'", what, pass_key, key);
    pass_key = key;
    if (node.attributes)
      field.refuse("{} has the parameters of its origin, so it takes no 'attrs'", what);
    origin->text(fmt::format("the origin of {}", what));
    node.origin = origin;
    node.pass = pass;
  }
  return node;
}

/// Depth-first sort with an explicit stack: chains of nodes may be longer than the program's stack
/// allows.
class Sorter {
 public:
  explicit Sorter(const std::vector<JsonNode>& nodes) : nodes_(nodes), marks_(nodes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto [first, added] = numbers_.emplace(nodes[i].name, i);
      if (!added)
        nodes[i].field.refuse("two nodes are named '{}'; the other one is at {}", nodes[i].name,
                              nodes[first->second].field.location());
    }
  }

  std::vector<std::size_t> run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) visit(i);
    return std::move(order_);
  }

 private:
  enum class Mark : std::uint8_t { fresh, open, done };
  struct Step {
    std::size_t node, next_input;
  };

  void visit(std::size_t start) {
    if (marks_[start] == Mark::done) return;
    open(start);
    while (!path_.empty()) {
      auto& step = path_.back();
      if (step.next_input == nodes_[step.node].inputs.size() + (nodes_[step.node].origin ? 1 : 0)) {
        marks_[step.node] = Mark::done;
        order_.push_back(step.node);
        path_.pop_back();
      } else if (const auto read = node_read(step.node, step.next_input++);
                 read < nodes_.size() && marks_[read] != Mark::done) {
        if (marks_[read] == Mark::open) refuse_circle(read);
        open(read);
      }
    }
  }

  void open(std::size_t node) {
    marks_[node] = Mark::open;
    path_.push_back({node, 0});
  }

  // Returns nodes_.size() if the input is not a node.
  std::size_t node_read(std::size_t node, std::size_t input) const {
    const auto& inputs = nodes_[node].inputs;
    const auto& field = input == inputs.size() ? nodes_[node].origin : inputs[input].second;
    if (!field) return nodes_.size();
    const auto found = numbers_.find(std::string_view(*field->get<std::string>())
                                         .substr(0, field->get<std::string>()->find(':')));
    return found == numbers_.end() ? nodes_.size() : found->second;
  }

  [[noreturn]] void refuse_circle(std::size_t node) const {
    const auto first = std::find_if(path_.begin(), path_.end(),
                                    [&](const Step& step) { return step.node == node; });
    std::string circle;
    for (auto step = first; step != path_.end(); ++step) {
      if (step - first == 10) circle += fmt::format("... ({} more), ", path_.end() - step);
      if (step - first < 10) circle += fmt::format("'{}' reads ", nodes_[step->node].name);
    }
    nodes_[node].field.refuse("the nodes form a cycle: {}'{}'", circle, nodes_[node].name);
  }

  const std::vector<JsonNode>& nodes_;
  std::vector<Mark> marks_;
  std::unordered_map<std::string_view, std::size_t> numbers_;
  std::vector<Step> path_;
  std::vector<std::size_t> order_;
};

AttributeValue list_value(const JsonField& field, const std::string& what) {
  std::vector<std::int64_t> whole;
  std::vector<double> real;
  for (const auto& item : field.list(what)) {
    real.push_back(item.number(fmt::format("an entry of {}", what)));
    if (const auto* integer = item.get<std::int64_t>()) whole.push_back(*integer);
  }
  if (whole.size() == real.size()) return whole;
  return real;
}

// The object's source text, unchanged.
std::string source_of(const JsonField& object) {
  const auto text = object.document().text.substr(object.value().offset);
  std::size_t depth = 0, i = 0;
  for (bool quoted = false; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\') ++i;
    if (quoted) continue;
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) break;
  }
  return std::string(text.substr(0, i + 1));
}

// A graph as a parameter: {"graph": "step"} refers to a member of the top object's "graphs"; any
// other object is the graph itself.
std::string graph_text(const JsonField& object, const std::string& what) {
  const auto name = object.find("graph");
  if (!name) return source_of(object);
  object.object(what, {"graph"});
  const auto& graph_name = name->text("a graph's name");
  const auto graphs = JsonField(object.document(), object.document().root).find("graphs");
  const auto found = graphs ? graphs->find(graph_name) : std::nullopt;
  if (!found)
    name->refuse("{} refers to the graph '{}', which is not in 'graphs'", what, graph_name);
  found->object(fmt::format("graph '{}'", graph_name));
  return source_of(*found);
}

std::vector<std::string> texts_value(const JsonField& field, const std::string& what) {
  std::vector<std::string> texts;
  for (const auto& item : field.list(what))
    texts.push_back(item.text(fmt::format("an entry of {}", what)));
  return texts;
}

// Nested lists, or {"dtype": ..., "shape": ..., "values": ...}; the dtype defaults to the
// parameter's.
Tensor table_value(const JsonField& field, DType dtype, const std::string& what) {
  if (field.get<JsonValue::Object>() == nullptr) {
    field.list(what);
    auto type = unknown_type();
    type.dtype = static_cast<std::uint8_t>(dtype);
    return read_json_values(field, type);
  }
  field.object(what, {"dtype", "shape", "values"});
  auto type = read_json_type(field, what);
  if (type.dtype == TENON_DTYPE_UNKNOWN) type.dtype = static_cast<std::uint8_t>(dtype);
  return read_json_values(field.need("values", what), type);
}

AttributeValue attribute_value(const JsonField& field, const ParamInfo* param,
                               const std::string& what) {
  if (param != nullptr && param->kind == ParamKind::tensor)
    return table_value(field, *param->dtype, what);
  if (param != nullptr && param->kind == ParamKind::texts) return texts_value(field, what);
  if (const auto* flag = field.get<bool>()) return *flag;
  if (const auto* integer = field.get<std::int64_t>()) return *integer;
  if (const auto* real = field.get<double>()) return *real;
  if (const auto* text = field.get<std::string>()) {
    const bool number = param != nullptr &&
                        (param->kind == ParamKind::float32 || param->kind == ParamKind::float64);
    if (const auto special = number ? special_number(*text) : std::nullopt) return *special;
    return *text;
  }
  if (field.get<JsonValue::Object>() != nullptr && param != nullptr &&
      param->kind == ParamKind::text)
    return graph_text(field, what);
  if (field.get<JsonValue::List>() == nullptr)
    field.refuse("{} must be true, false, a number, a string or a list of numbers", what);
  return list_value(field, what);
}

}  // namespace

std::vector<JsonNode> read_json_nodes(const JsonField& list) {
  std::vector<JsonNode> nodes;
  for (const auto& field : list.list("'nodes'")) nodes.push_back(read_node(field));
  return nodes;
}

std::vector<std::size_t> build_order(const std::vector<JsonNode>& nodes) {
  return Sorter(nodes).run();
}

bool may_be_node(const JsonNode& node, const OperatorInfo& info) {
  if (node.pass != Pass::forward) return true;
  const auto known = [&](const JsonField::Entry& entry) {
    const auto now = current_name(std::string(entry.key), 0, info);
    return info.find_param(entry.key) >= 0 || now.removed != nullptr ||
           info.find_param(*now.name) >= 0;
  };
  if (node.attributes) {
    const auto entries = node.attributes->object("");
    if (!std::all_of(entries.begin(), entries.end(), known)) return false;
  }
  const auto unknown_input = [&](const auto& input) {
    return !input.first.empty() && info.find_input(input.first) < 0;
  };
  const bool too_many = node.inputs.size() > info.inputs.size() && !info.variadic();
  return !too_many && std::none_of(node.inputs.begin(), node.inputs.end(), unknown_input);
}

Attributes read_json_attributes(const JsonNode& node, const OperatorInfo& info) {
  Attributes attributes;
  if (!node.attributes) return attributes;
  for (const auto& entry :
       node.attributes->object(fmt::format("'attrs' of node '{}'", node.name))) {
    const auto now = info.find_param(entry.key) >= 0
                         ? std::string(entry.key)
                         : current_name(std::string(entry.key), 0, info).name;
    const int index = now ? info.find_param(*now) : -1;
    const auto* param = index < 0 ? nullptr : &info.params[static_cast<std::size_t>(index)];
    attributes.set(
        std::string(entry.key),
        attribute_value(entry.value, param,
                        fmt::format("parameter '{}' of node '{}'", entry.key, node.name)));
  }
  return attributes;
}

}  // namespace tenon
