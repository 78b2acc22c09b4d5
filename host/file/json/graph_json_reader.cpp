#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "file/array/array_file.hpp"
#include "file/json/graph_json.hpp"
#include "file/json/json_nodes.hpp"
#include "file/json/json_tensor.hpp"
#include "graph/declarations.hpp"
#include "io/utf8.hpp"
#include "plugin/missing_operators.hpp"

namespace tenon {
namespace {

class GraphJsonReader {
 public:
  GraphJsonReader(GraphModel& model, GraphBuilder& builder, const Catalog& catalog,
                  const JsonDocument& document, const std::filesystem::path& folder)
      : model_(model),
        builder_(builder),
        catalog_(catalog),
        document_(document),
        folder_(folder),
        root_(document, document.root) {}

  void run() {
    root_.object("the graph", {"tenon", "name", "inputs", "variables", "constants", "states",
                               "nodes", "outputs", "updates", "categories", "notes", "graphs"});
    read_format();
    if (const auto name = root_.find("name")) model_.name = name->text("the graph's name");
    for (const auto& entry : section("inputs")) read_input(entry);
    for (const auto& entry : section("variables")) read_value(entry, Role::variable);
    for (const auto& entry : section("constants")) read_value(entry, Role::constant);
    for (const auto& entry : section("states")) read_value(entry, Role::state);
    const auto nodes = root_.find("nodes");
    if (nodes) read_nodes(*nodes);
    for (const auto& entry : section("states")) require_used(entry);
    for (const auto& entry : section("graphs"))
      if (!used_graphs_.contains(entry.key))
        refuse_at(entry.key_offset,
                  fmt::format("no node uses the graph '{}'", printable(entry.key)));
    for (const auto& entry : section("outputs")) {
      const auto value = refer(entry.value, fmt::format("output '{}'", printable(entry.key)));
      at(entry.key_offset, [&] { builder_.output(entry.key, value); });
    }
    for (const auto& entry : section("updates")) {
      const auto value =
          refer(entry.value, fmt::format("the update of '{}'", printable(entry.key)));
      at(entry.key_offset, [&] { builder_.update(find_value(model_, entry.key), value); });
    }
    for (const auto& entry : section("categories")) read_categories(entry);
    for (const auto& entry : section("notes"))
      model_.meta.emplace_back(model_.strings.intern(entry.key),
                               model_.strings.intern(entry.value.text("a note")));
    at(nodes ? nodes->value().offset : 0, [&] { builder_.complete(); });
  }

 private:
  std::vector<JsonField::Entry> section(std::string_view key) const {
    const auto field = root_.find(key);
    return field ? field->object(fmt::format("'{}'", key)) : std::vector<JsonField::Entry>();
  }

  /// Runs a call that has no access to the text, and adds the position to its failures.
  template <class Call>
  void at(std::size_t offset, Call&& call) const {
    try {
      call();
    } catch (const Failure& failure) {
      throw Failure(failure.kind(),
                    fmt::format("{}: {}", location_of(document_, offset), failure.what()),
                    failure.hint());
    }
  }

  [[noreturn]] void refuse_at(std::size_t offset, const std::string& sentence) const {
    throw Failure(FailureKind::file,
                  fmt::format("{}: {}", location_of(document_, offset), sentence));
  }

  void read_format() const {
    const auto field = root_.find("tenon");
    if (!field)
      throw Failure(FailureKind::file, root_.location() + ": the graph lacks 'tenon'",
                    R"(add "tenon": 1, the version of the format)");
    const auto format = field->integer("'tenon'");
    if (format != 1) field->refuse("'tenon' is {}, but this version reads format 1", format);
  }

  void read_input(const JsonField::Entry& entry) {
    const std::string name(entry.key);
    entry.value.object(fmt::format("input '{}'", printable(name)), {"dtype", "shape", "storage"});
    std::vector<std::string> dim_names;
    const auto type =
        read_json_type(entry.value, fmt::format("input '{}'", printable(name)), &dim_names);
    at(entry.key_offset, [&] {
      const auto input = builder_.input(name, type);
      if (!dim_names.empty()) builder_.name_dims(input, dim_names);
    });
  }

  void read_value(const JsonField::Entry& entry, Role role) {
    static constexpr const char* roles[] = {"input", "variable", "state", "constant"};
    const auto what =
        fmt::format("{} '{}'", roles[static_cast<std::size_t>(role)], printable(entry.key));
    const auto& object = entry.value;
    std::vector<std::string_view> known = {"dtype", "shape", "storage", "values"};
    if (role != Role::state)
      known.insert(known.end(), {"columns", "row_starts", "row_ids", "index_dtype"});
    for (const auto& format : array_formats())
      if (format.key != nullptr) known.emplace_back(format.key);
    if (role != Role::constant) known.emplace(known.begin(), "init");
    object.object(what, known);
    const auto type = read_json_type(object, what);
    const auto tensor = read_json_tensor(object, what, type, folder_);
    Init init;
    if (const auto field = object.find("init"))
      init = read_init(*field, fmt::format("the init of {}", what));
    if (!tensor && role == Role::constant) object.refuse("{} has neither 'values' nor 'npy'", what);
    at(entry.key_offset, [&] {
      check_init(entry.key, init, type);
      const auto id =
          tensor ? builder_.tensor(entry.key, role, tensor) : builder_.unset(entry.key, role, type);
      model_.values[id].init = init;
    });
  }

  void read_categories(const JsonField::Entry& entry) {
    const auto what = fmt::format("the categories of '{}'", printable(entry.key));
    std::vector<std::string> names;
    for (const auto& name : entry.value.list(what)) names.push_back(name.text("a category"));
    if (names.empty()) refuse_at(entry.key_offset, fmt::format("{} are an empty list", what));
    at(entry.key_offset, [&] { builder_.name_categories(find_value(model_, entry.key), names); });
  }

  // Nodes take the states that carry their names; a state that no node takes is an error.
  void require_used(const JsonField::Entry& entry) {
    if (states_.empty())
      for (const auto& node : model_.nodes)
        for (std::uint32_t i = 0; i < node.state_count; ++i)
          states_.insert(model_.edges[node.first_edge + node.input_count + i]);
    if (states_.count(find_value(model_, entry.key)) == 0)
      refuse_at(entry.key_offset, fmt::format("no node has a state '{}'", printable(entry.key)));
  }

  void read_nodes(const JsonField& list) {
    const auto nodes = read_json_nodes(list);
    for (const auto& node : nodes) {
      if (is_named(model_, node.name))
        node.field.refuse("the name '{}' is taken", printable(node.name));
      names_.push_back(node.name);
    }
    require_operators(nodes);
    nodes_ = &nodes;
    for (const auto i : build_order(nodes)) build(nodes[i]);
  }

  // Reports all missing operators in one message.
  void require_operators(const std::vector<JsonNode>& nodes) {
    std::vector<MissingOperator> missing;
    std::size_t first = 0;
    for (const auto& node : nodes) {
      const auto [name, is_new] = operators_.try_emplace(node.op);
      if (!is_new) continue;
      name->second = builder_.plugins().find({.name = node.op}).name;
      if (!name->second.empty()) continue;
      if (missing.empty()) first = node.field.value().offset;
      missing.push_back({node.op, fmt::format("of node '{}'", printable(node.name))});
    }
    if (!missing.empty()) at(first, [&] { throw missing_operators(catalog_, missing); });
  }

  void build(const JsonNode& node) {
    if (node.pass != Pass::forward) return build_from_origin(node);
    std::vector<ValueId> inputs;
    std::vector<std::pair<std::string, ValueId>> named;
    for (const auto& [name, field] : node.inputs) {
      const auto value =
          field ? refer(*field, fmt::format("node '{}'", printable(node.name))) : none;
      if (name.empty())
        inputs.push_back(value);
      else
        named.emplace_back(name, value);
    }
    const LoadedOperator* op = nullptr;
    at(node.field.value().offset, [&] { op = &load(node.op); });
    const auto attributes = read_json_attributes(node, *op->info);
    const auto type = op->info->full_name();
    if (node.attributes)
      for (const auto& entry : node.attributes->object(""))
        if (entry.value.get<JsonValue::Object>() != nullptr)
          if (const auto graph = entry.value.find("graph")) used_graphs_.insert(graph->text());
    at(node.field.value().offset, [&] {
      builder_.node({.op = type,
                     .name = node.name,
                     .inputs = inputs,
                     .named_inputs = named,
                     .attributes = attributes,
                     .device = node.device,
                     .loaded = op});
    });
  }

  // All nodes of an operator share one version of it.
  const LoadedOperator& load(const std::string& op) {
    auto& loaded = loaded_[op];
    if (loaded == nullptr)
      loaded = &builder_.plugins().load(SavedOperator{.name = op}, [&](const OperatorInfo& info) {
        return std::all_of(nodes_->begin(), nodes_->end(), [&](const JsonNode& node) {
          return node.op != op || may_be_node(node, info);
        });
      });
    return *loaded;
  }

  // Inputs are listed by position; trailing ones may be omitted if they are not connected.
  void build_from_origin(const JsonNode& node) {
    const auto& name = node.origin->text("an origin");
    const auto found = model_.node_names.find(model_.strings.find(name));
    if (found == none ||
        model_.operators[model_.nodes[found].op].info->full_name() != operators_.at(node.op))
      node.origin->refuse("the origin of node '{}': '{}' is not a node with operator {}",
                          printable(node.name), printable(name), printable(node.op));
    std::vector<ValueId> inputs;
    for (const auto& [input, field] : node.inputs) {
      if (!input.empty())
        node.field.refuse("node '{}': list the inputs by position, not by name",
                          printable(node.name));
      inputs.push_back(field ? refer(*field, fmt::format("node '{}'", printable(node.name)))
                             : none);
    }
    at(node.field.value().offset, [&] {
      node.pass == Pass::backward ? builder_.backward(found, inputs, node.name)
                                  : builder_.recompute(found, inputs, node.name);
    });
  }

  ValueId refer(const JsonField& field, const std::string& reader) const {
    const auto& text = field.text(fmt::format("an input of {}", reader));
    const auto base = text.substr(0, text.find(':'));
    if (is_named(model_, text) || is_named(model_, base)) {
      ValueId value = none;
      at(field.value().offset, [&] { value = find_value(model_, text); });
      return value;
    }
    auto names = names_;
    for (const auto name : model_.value_names.names()) names.emplace_back(model_.strings[name]);
    throw Failure(FailureKind::file,
                  fmt::format("{}: {} reads '{}', which is not in the graph", field.location(),
                              reader, printable(text)),
                  did_you_mean(similar_names(base, names),
                               "a value is a node, node:1, node:output, or the name of an input, "
                               "variable or constant"));
  }

  GraphModel& model_;
  GraphBuilder& builder_;
  const Catalog& catalog_;
  const JsonDocument& document_;
  const std::filesystem::path& folder_;
  JsonField root_;
  std::unordered_set<ValueId> states_;                      // that nodes have
  std::unordered_map<std::string, std::string> operators_;  // full names by name in the text
  std::unordered_map<std::string, const LoadedOperator*> loaded_;
  const std::vector<JsonNode>* nodes_ = nullptr;
  std::vector<std::string> names_;  // of all nodes, including later ones
  std::set<std::string, std::less<>> used_graphs_;
};

}  // namespace

void read_graph_json(std::string_view text, const JsonSource& source, GraphModel& model,
                     GraphBuilder& builder, const Catalog& catalog) {
  const auto document = parse_json(text, source.label);
  GraphJsonReader(model, builder, catalog, document, source.folder).run();
}

}  // namespace tenon
