// Nodes, their edges, outputs and attributes.
#include "file/tenon/attribute_reader.hpp"
#include "file/tenon/read_context.hpp"
#include "graph/declarations.hpp"
#include "graph/operators/operator_use.hpp"
#include "io/counted.hpp"

namespace tenon {
namespace {

struct NodeColumns {
  NodeColumns(const ReadContext& from, const format::Nodes& nodes, std::size_t count)
      : names(from, nodes.names(), count, "nodes.names"),
        operators(from, nodes.operators(), count, "nodes.operators"),
        inputs(from, nodes.input_counts(), count, "nodes.input_counts"),
        states(from, nodes.state_counts(), count, "nodes.state_counts"),
        outputs(from, nodes.output_counts(), count, "nodes.output_counts"),
        attributes(from, nodes.attribute_counts(), count, "nodes.attribute_counts"),
        devices(from, nodes.devices(), count, "nodes.devices"),
        passes(from, nodes.passes(), count, "nodes.passes"),
        origins(from, nodes.origins(), count, "nodes.origins") {}
  Column<std::uint32_t> names, operators, inputs, states, outputs, attributes, devices;
  Column<format::Pass> passes;
  Column<std::uint32_t> origins;
};

class NodeReader {
 public:
  NodeReader(ReadContext& reading, const format::Graph& graph, const format::Nodes& nodes)
      : reading_(reading),
        model_(reading.model),
        count_(count_of(nodes.names())),
        columns_(reading, nodes, count_),
        edges_(nodes.edges()),
        types_(nodes.output_types()),
        attributes_(reading, graph.attributes(), "its graph"),
        state_used_(reading.model.values.size()) {}

  void run() {
    require_total(columns_.inputs, columns_.states, count_of(edges_), "edges");
    require_total(columns_.outputs, {}, count_of(types_), "output types");
    model_.nodes.reserve(count_);
    model_.node_names.reserve(model_.strings.size());
    model_.edges.reserve(count_of(edges_));
    model_.values.reserve(model_.values.size() + count_of(types_));
    for (std::uint32_t i = 0; i < count_; ++i) read(i);
    attributes_.finish();
  }

 private:
  using Counts = Column<std::uint32_t>;

  // Once the sums match, no node can read past the end of a column.
  void require_total(const Counts& counts, const std::optional<Counts>& more, std::size_t found,
                     const char* what) const {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < count_; ++i)
      total += std::uint64_t{counts[i]} + (more ? (*more)[i] : 0);
    if (total != found)
      reading_.refuse("its nodes need {} {} by their counts, but there are {}", total, what, found);
  }

  void read(std::uint32_t i) {
    NodeRecord node;
    node.name = reading_.index(columns_.names[i], model_.strings.size(), "the name of node {}", i);
    require_name(reading_, node.name, "node", i);
    const auto name = reading_.text(node.name);
    if (model_.value_names.find(node.name) != none || !model_.node_names.add(node.name, i))
      reading_.refuse("two nodes or values have the name '{}'", name);
    node.op = reading_.index(columns_.operators[i], model_.operators.size(),
                             "the operator of node '{}'", name);
    node.device =
        reading_.index(columns_.devices[i], model_.strings.size(), "the device of node '{}'", name);
    try {
      check_node_device(name, reading_.text(node.device));
    } catch (const Failure& failure) {
      reading_.refuse("{}", failure.what());
    }
    node.input_count = columns_.inputs[i];
    node.state_count = columns_.states[i];
    node.output_count = columns_.outputs[i];
    read_pass(node, i);
    read_edges(node);
    node.first_attribute = static_cast<std::uint32_t>(model_.attributes.size());
    node.attribute_count = columns_.attributes[i];
    attributes_.read({"node", name}, node.attribute_count);
    require_arity(node);
    read_outputs(node, i);
    model_.nodes.push_back(node);
  }

  void read_pass(NodeRecord& node, std::uint32_t i) {
    const auto pass = static_cast<std::uint8_t>(columns_.passes[i]);
    const auto name = reading_.text(node.name);
    if (pass > static_cast<std::uint8_t>(Pass::recompute))
      reading_.refuse("node '{}' has the unknown pass {}", name, pass);
    node.pass = static_cast<Pass>(pass);
    if (node.pass == Pass::forward) {
      if (columns_.origins[i] != 0)
        reading_.refuse("node '{}' has an origin, but it is a forward node", name);
      return;
    }
    node.origin = columns_.origins[i] - 1;
    if (node.origin >= i || model_.nodes[node.origin].pass != Pass::forward ||
        model_.nodes[node.origin].op != node.op)
      reading_.refuse("the origin of node '{}' is not an earlier forward node of its operator",
                      name);
    if (node.pass == Pass::recompute && node.state_count != 0)
      reading_.refuse("node '{}' is recomputed but has states", name);
  }

  // A node reads only values of earlier positions, so a file cannot hold a cycle.
  void read_edges(NodeRecord& node) {
    node.first_edge = static_cast<std::uint32_t>(model_.edges.size());
    for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i) {
      const auto value = edges_->Get(node.first_edge + i);
      const bool state = i >= node.input_count;
      if (value >= model_.values.size() && (value != none || state))
        reading_.refuse("node '{}' reads value {}, but only {} before it", reading_.text(node.name),
                        value, counted(model_.values.size(), "value comes", "values come"));
      if (state) use_state(node, value);
      model_.edges.push_back(value);
    }
  }

  void use_state(const NodeRecord& node, ValueId value) {
    if (model_.values[value].role != Role::state)
      reading_.refuse("node '{}' uses '{}' as a state, but it is not one", reading_.text(node.name),
                      value_label(model_, value));
    if (state_used_[value])
      reading_.refuse("the state '{}' belongs to two nodes; the second is '{}'",
                      value_label(model_, value), reading_.text(node.name));
    state_used_[value] = true;
  }

  // Checks against the operator's description in the file; binding checks against the loaded
  // operator.
  void require_arity(const NodeRecord& node) const {
    try {
      node.pass == Pass::backward ? check_backward_arity(model_, node)
                                  : check_arity(model_, node, *model_.operators[node.op].info);
    } catch (const Failure& failure) {
      reading_.refuse("node '{}'{} {}", reading_.text(node.name),
                      failure.kind() == FailureKind::file ? "" : ":", failure.what());
    }
    if (node.pass != Pass::recompute) return;
    const auto& origin = model_.nodes[node.origin];
    if (node.input_count != origin.input_count || node.output_count != origin.output_count)
      reading_.refuse("node '{}' has {} and {}, but its origin '{}' has {} and {}",
                      reading_.text(node.name), counted(node.input_count, "input"),
                      counted(node.output_count, "output"), reading_.text(origin.name),
                      origin.input_count, origin.output_count);
  }

  void read_outputs(NodeRecord& node, std::uint32_t id) {
    node.first_output = static_cast<std::uint32_t>(model_.values.size());
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      auto& value = model_.values.emplace_back();
      value.producer = id;
      value.index = i;
      const auto type = types_->Get(next_type_++);
      value.type = reading_.types[reading_.index(type, reading_.types.size(),
                                                 "the type of output {} of node '{}'", i,
                                                 reading_.text(node.name))];
    }
  }

  ReadContext& reading_;
  GraphModel& model_;
  std::uint32_t count_;
  NodeColumns columns_;
  const flatbuffers::Vector<std::uint32_t>*edges_, *types_;
  AttributeReader attributes_;
  std::vector<bool> state_used_;
  std::uint32_t next_type_ = 0;
};

}  // namespace

void read_nodes(ReadContext& reading, const format::Graph& graph) {
  if (graph.nodes() == nullptr) reading.refuse("its graph has no nodes");
  NodeReader(reading, graph, *graph.nodes()).run();
}

namespace {

void read_updates(ReadContext& reading, const format::Graph& graph) {
  auto& model = reading.model;
  const auto count = count_of(graph.updated());
  require_aligned(reading, graph.updated(), "updated");
  const Column<std::uint32_t> values(reading, graph.update_values(), count, "update_values");
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto variable =
        reading.index(graph.updated()->Get(i), model.values.size(), "updated variable {}", i);
    if (model.values[variable].role != Role::variable || model.values[variable].updated)
      reading.refuse("'{}' is updated, but it is not a variable or is updated already",
                     value_label(model, variable));
    model.add_update(variable, reading.index(values[i], model.values.size(),
                                             "the value that updates variable {}", i));
  }
}

void read_categories(ReadContext& reading, const format::Graph& graph) {
  auto& model = reading.model;
  const auto count = count_of(graph.categorical());
  require_aligned(reading, graph.categorical(), "categorical");
  const Column<std::uint32_t> counts(reading, graph.category_counts(), count, "category_counts");
  require_aligned(reading, graph.category_names(), "category_names");
  std::uint32_t at = 0, next = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto id =
        reading.index(graph.categorical()->Get(i), model.values.size(), "categorical value {}", i);
    if (id < next) reading.refuse("categorical value {} is {}, which is not in order", i, id);
    next = id + 1;
    if (counts[i] == 0 || counts[i] > count_of(graph.category_names()) - at)
      reading.refuse("categorical value {} has {} categories, but {} are left", i, counts[i],
                     count_of(graph.category_names()) - at);
    std::vector<StringId> ids;
    std::vector<std::string_view> names;
    for (const auto end = at + counts[i]; at < end; ++at) {
      ids.push_back(reading.index(graph.category_names()->Get(at), model.strings.size(),
                                  "category name {}", at));
      names.push_back(reading.text(ids.back()));
    }
    try {
      check_categories(value_label(model, id), model.values[id].type, names);
    } catch (const Failure& failure) {
      reading.refuse("{}", failure.what());
    }
    model.values[id].categories = static_cast<std::uint32_t>(model.categories.size());
    model.categories.push_back(std::move(ids));
  }
  if (at != count_of(graph.category_names()))
    reading.refuse("it has {}, but its values use {}",
                   counted(count_of(graph.category_names()), "category name"), at);
}

}  // namespace

void read_outputs(ReadContext& reading, const format::Graph& graph) {
  auto& model = reading.model;
  const auto count = count_of(graph.output_names());
  const Column<std::uint32_t> values(reading, graph.output_values(), count, "output_values");
  std::vector<bool> seen(model.strings.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto name = reading.index(graph.output_names()->Get(i), model.strings.size(),
                                    "the name of output {}", i);
    require_name(reading, name, "output", i);
    if (seen[name]) reading.refuse("two outputs have the name '{}'", reading.text(name));
    seen[name] = true;
    model.outputs.emplace_back(name, reading.index(values[i], model.values.size(),
                                                   "the value of output '{}'", reading.text(name)));
  }
  read_updates(reading, graph);
  read_categories(reading, graph);
  model.name = reading.text(reading.index(graph.name(), model.strings.size(), "the graph's name"));
}

}  // namespace tenon
