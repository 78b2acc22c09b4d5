#include "graph/builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/inference.hpp"
#include "graph/operator_use.hpp"
#include "graph/parameters.hpp"

namespace tenon {

// Everything in a model only ever grows at its end, so a length is all it takes to go back.
struct GraphBuilder::Mark {
  explicit Mark(const GraphModel& model)
      : nodes(model.nodes.size()),
        values(model.values.size()),
        edges(model.edges.size()),
        attributes(model.attributes.size()),
        ints(model.ints.size()),
        floats(model.floats.size()),
        operators(model.operators.size()) {}
  std::size_t nodes, values, edges, attributes, ints, floats, operators;
};

void GraphBuilder::roll_back(const Mark& mark) {
  for (auto i = mark.nodes; i < model_.nodes.size(); ++i) model_.node_names.erase(model_.nodes[i].name);
  for (auto i = mark.values; i < model_.values.size(); ++i)
    if (model_.values[i].role != Role::output) model_.value_names.erase(model_.values[i].name);
  model_.nodes.resize(mark.nodes);
  model_.values.resize(mark.values);
  model_.edges.resize(mark.edges);
  model_.attributes.resize(mark.attributes);
  model_.ints.resize(mark.ints);
  model_.floats.resize(mark.floats);
  model_.operators.resize(mark.operators);
  binding_.nodes.resize(std::min(binding_.nodes.size(), mark.nodes));
  binding_.operators.resize(std::min(binding_.operators.size(), mark.operators));
}

void GraphBuilder::check_name(std::string_view name) const {
  const auto bad = [](char c) { return c == ':' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (name.empty()) throw Failure(FailureKind::usage, "a value needs a name, this one is empty");
  if (std::any_of(name.begin(), name.end(), bad))
    throw Failure(FailureKind::usage, fmt::format("name '{}' has a colon or a control character in it", name),
                  "a colon stands between a node's name and the number of its output");
  if (is_named(model_, name)) throw Failure(FailureKind::usage, fmt::format("there is already something named '{}'", name));
}

ValueId GraphBuilder::add_value(std::string_view name, Role role, const tenon_type& type) {
  check_name(name);
  if (!is_sound(type)) throw Failure(FailureKind::usage, fmt::format("'{}' has an impossible shape", name));
  const auto id = static_cast<ValueId>(model_.values.size());
  auto& value = model_.values.emplace_back();
  value.name = model_.strings.intern(name);
  value.role = role;
  value.type = type;
  model_.value_names.emplace(value.name, id);
  return id;
}

ValueId GraphBuilder::input(std::string_view name, const tenon_type& type) {
  const auto id = add_value(name, Role::input, type);
  model_.inputs.push_back(id);
  return id;
}

ValueId GraphBuilder::tensor(std::string_view name, Role role, const Tensor& tensor) {
  if (!tensor) throw Failure(FailureKind::usage, fmt::format("'{}' is given an empty tensor", name));
  const auto id = add_value(name, role, type_of(tensor.dtype(), tensor.shape()));
  model_.values[id].tensor = static_cast<std::uint32_t>(model_.tensors.size());
  model_.tensors.push_back(tensor.make_contiguous());
  return id;
}

void GraphBuilder::output(std::string_view name, ValueId value) {
  const auto id = model_.strings.intern(name);
  if (name.empty()) throw Failure(FailureKind::usage, "an output needs a name, this one is empty");
  for (const auto& [other, existing] : model_.outputs)
    if (other == id) throw Failure(FailureKind::usage, fmt::format("there is already an output named '{}'", name));
  model_.outputs.emplace_back(id, value);
}

StringId GraphBuilder::node_name(const NodeSpec& spec) {
  if (!spec.name.empty()) {
    check_name(spec.name);
    return model_.strings.intern(spec.name);
  }
  std::string name(spec.op);
  for (int i = 1; is_named(model_, name); ++i) name = fmt::format("{}_{}", spec.op, i);
  return model_.strings.intern(name);
}

// One entry for each input of the operator, more for a variadic one; none where nothing is connected.
std::vector<ValueId> GraphBuilder::place_inputs(const OperatorInfo& info, const NodeSpec& spec) const {
  auto placed = spec.inputs;
  if (placed.size() > info.inputs.size() && !info.variadic())
    throw Failure(FailureKind::usage, fmt::format("{} inputs are given but the operator takes {}", placed.size(), info.inputs.size()));
  if (placed.size() < info.inputs.size()) placed.resize(info.inputs.size() - (info.variadic() ? 1 : 0), none);
  for (const auto& [name, value] : spec.named_inputs) {
    const auto index = info.find_input(name);
    if (index < 0) {
      std::vector<std::string> names;
      for (const auto& input : info.inputs) names.push_back(input.name);
      throw Failure(FailureKind::usage, fmt::format("there is no input '{}'", name),
                    fmt::format("its inputs are {}", fmt::join(names, ", ")));
    }
    const bool variadic = info.inputs[static_cast<std::size_t>(index)].variadic;
    if (variadic) {
      placed.push_back(value);
    } else if (auto& slot = placed[static_cast<std::size_t>(index)]; slot == none) {
      slot = value;
    } else {
      throw Failure(FailureKind::usage, fmt::format("input '{}' is given twice", name));
    }
  }
  return placed;
}

// `node_part`: what somebody has put there under this name already, or a new value.
ValueId GraphBuilder::own_value(const NodeRecord& node, const std::string& part, Role role, const tenon_type& type) {
  const auto name = fmt::format("{}_{}", model_.strings[node.name], part);
  const auto found = model_.value_names.find(model_.strings.intern(name));
  if (found == model_.value_names.end() || model_.values[found->second].role != role) return add_value(name, role, type);
  if (merge(model_.values[found->second].type, type) == Merge::contradiction)
    throw Failure(FailureKind::failed,
                  fmt::format("'{}' is {} but the node needs {}", name, to_string(model_.values[found->second].type), to_string(type)));
  return found->second;
}

// Edges, then the values that the node brings with it: states, variables for what is left out, outputs.
void GraphBuilder::connect(NodeRecord& node, const OperatorInfo& info, const std::vector<ValueId>& inputs) {
  node.first_edge = static_cast<std::uint32_t>(model_.edges.size());
  node.input_count = static_cast<std::uint32_t>(inputs.size());
  node.state_count = static_cast<std::uint32_t>(info.states.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& declared = info.inputs[std::min(i, info.inputs.size() - 1)];
    const bool missing = inputs[i] == none && !declared.optional;
    if (missing && declared.variadic) throw Failure(FailureKind::usage, fmt::format("input '{}' has an empty place", declared.name));
    const auto value = missing ? own_value(node, declared.name, Role::variable, unknown_type()) : inputs[i];
    model_.edges.push_back(value);
  }
  for (const auto& state : info.states) {
    const auto value = own_value(node, state.name, Role::state, unknown_type());
    model_.edges.push_back(value);
  }
  node.output_count = output_count(model_, node, info);
  node.first_output = static_cast<std::uint32_t>(model_.values.size());
  const auto id = static_cast<NodeId>(model_.nodes.size());
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    auto& value = model_.values.emplace_back();
    value.producer = id;
    value.index = i;
    value.type = unknown_type();
  }
}

NodeId GraphBuilder::node(const NodeSpec& spec) {
  const auto* found = plugins_.catalog().find(spec.op);
  if (found == nullptr) {
    plugins_.load(spec.op);  // says what is near and where was searched
    throw Failure(FailureKind::plugin, fmt::format("operator '{}' is missing", spec.op));
  }
  const Mark mark(model_);
  const auto id = static_cast<NodeId>(mark.nodes);
  try {
    NodeRecord node;
    node.name = node_name(spec);
    node.op = use_operator(model_, plugins_, *found);
    node.device = model_.strings.intern(spec.device);
    try {
      add_parameters(model_, node, found->info, spec.attributes);
      connect(node, found->info, place_inputs(found->info, spec));
    } catch (const Failure& failure) {
      rethrow_at(fmt::format("[{}] node '{}'", found->info.name, model_.strings[node.name]), failure);
    }
    model_.nodes.push_back(node);
    model_.node_names.emplace(node.name, id);
    bind(model_, plugins_, binding_);
    Inference inference(model_, binding_, TypeTable(model_.values));
    inference.run_from(id);
    add_wanted(inference.wanted(), id);
  } catch (...) {
    roll_back(mark);
    throw;
  }
  return id;
}

void GraphBuilder::add_wanted(const std::vector<std::pair<std::uint32_t, tenon_type>>& wanted, NodeId first_node) {
  NodeId id = first_node;
  for (const auto& [edge, type] : wanted) {
    if (model_.edges[edge] != none) continue;
    while (edge >= model_.nodes[id].first_edge + model_.nodes[id].input_count) ++id;
    const auto& node = model_.nodes[id];
    const auto& declared = binding_.nodes[id].op->info->inputs[edge - node.first_edge];
    auto present = type;
    present.present = 1;
    model_.edges[edge] = own_value(node, declared.name, Role::variable, present);
  }
}

void GraphBuilder::complete() {
  bind(model_, plugins_, binding_);
  for (;;) {
    Inference inference(model_, binding_, TypeTable(model_.values));
    inference.run();
    auto wanted = inference.wanted();
    if (wanted.empty()) return;
    std::sort(wanted.begin(), wanted.end(), [](const auto& left, const auto& right) { return left.first < right.first; });
    add_wanted(wanted, 0);
  }
}

}  // namespace tenon
