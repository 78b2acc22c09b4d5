#include "graph/builder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/declarations.hpp"
#include "graph/inference/inference.hpp"
#include "graph/inference/type.hpp"
#include "graph/operators/operator_use.hpp"
#include "graph/parameters.hpp"
#include "io/counted.hpp"
#include "plugin/operator_name.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {

// A model only ever grows at the end of its arrays, so their lengths suffice to roll back.
GraphBuilder::Mark GraphBuilder::mark() const {
  return {model_.nodes.size(), model_.values.size(), model_.edges.size(),  model_.attributes.size(),
          model_.ints.size(),  model_.floats.size(), model_.tables.size(), model_.operators.size()};
}

void GraphBuilder::roll_back(const Mark& mark) {
  for (auto i = mark.nodes; i < model_.nodes.size(); ++i)
    model_.node_names.erase(model_.nodes[i].name);
  for (auto i = mark.values; i < model_.values.size(); ++i)
    if (model_.values[i].role != Role::output) model_.value_names.erase(model_.values[i].name);
  std::erase_if(model_.objects, [&](const auto& object) { return object.first >= mark.nodes; });
  model_.nodes.resize(mark.nodes);
  model_.values.resize(mark.values);
  std::erase_if(model_.declared_types,
                [&](const auto& declared) { return declared.first >= mark.values; });
  model_.edges.resize(mark.edges);
  model_.attributes.resize(mark.attributes);
  model_.ints.resize(mark.ints);
  model_.floats.resize(mark.floats);
  model_.tables.resize(mark.tables);
  model_.operators.resize(mark.operators);
  binding_.nodes.resize(std::min(binding_.nodes.size(), mark.nodes));
  binding_.operators.resize(std::min(binding_.operators.size(), mark.operators));
}

void GraphBuilder::check_name(std::string_view name) const {
  check_name_text(name, "a value");
  if (is_named(model_, name))
    throw Failure(FailureKind::usage, fmt::format("the name '{}' is taken", name));
}

ValueId GraphBuilder::add_value(std::string_view name, Role role, const tenon_type& type) {
  check_name(name);
  if (type.dtype >= TENON_DTYPE_COUNT && type.dtype != TENON_DTYPE_UNKNOWN)
    throw Failure(
        FailureKind::usage,
        fmt::format("'{}' has dtype number {}, which does not exist", name, type.dtype),
        "the dtypes are tenon::boolean, tenon::u8, tenon::f32 and the others of <tenon/dtype.hpp>");
  if (!is_sound(type))
    throw Failure(FailureKind::usage, fmt::format("'{}' has an invalid shape", name));
  check_storage(name, role, type);
  const auto id = static_cast<ValueId>(model_.values.size());
  auto& value = model_.values.emplace_back();
  value.name = model_.strings.intern(name);
  value.role = role;
  value.type = type;
  model_.value_names.add(value.name, id);
  return id;
}

ValueId GraphBuilder::unset(std::string_view name, Role role, const tenon_type& type,
                            const Init& init) {
  check_init(name, init, type);
  const auto id = add_value(name, role, type);
  model_.values[id].init = init;
  return id;
}

ValueId GraphBuilder::input(std::string_view name, const tenon_type& type) {
  const auto id = add_value(name, Role::input, type);
  model_.inputs.push_back(id);
  return id;
}

void GraphBuilder::name_dims(ValueId input, const std::vector<std::string>& names) {
  auto& value = model_.values[input];
  if (value.role != Role::input ||
      static_cast<std::size_t>(std::max(value.type.rank, 0)) != names.size())
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' is not an input of {}", value_label(model_, input),
                              counted(names.size(), "dimension")));
  std::vector<StringId> ids;
  for (const auto& name : names) {
    if (!name.empty()) check_name_text(name, "a dimension");
    ids.push_back(is_placeholder(name) ? 0 : model_.strings.intern(name));
  }
  if (std::all_of(ids.begin(), ids.end(), [](StringId id) { return id == 0; })) return;
  value.dims = static_cast<std::uint32_t>(model_.dim_names.size());
  model_.dim_names.push_back(std::move(ids));
}

void GraphBuilder::name_categories(ValueId value, const std::vector<std::string>& names) {
  auto& record = model_.values[value];
  if (names.empty()) return void(record.categories = none);
  check_categories(value_label(model_, value), record.type, {names.begin(), names.end()});
  auto& ids = model_.categories.emplace_back();
  ids.reserve(names.size());
  for (const auto& name : names) ids.push_back(model_.strings.intern(name));
  record.categories = static_cast<std::uint32_t>(model_.categories.size() - 1);
}

ValueId GraphBuilder::tensor(std::string_view name, Role role, const Tensor& tensor) {
  if (!tensor) throw Failure(FailureKind::usage, fmt::format("the tensor for '{}' is empty", name));
  const auto id = add_value(name, role, type_of(tensor));
  model_.values[id].tensor = static_cast<std::uint32_t>(model_.tensors.size());
  model_.tensors.push_back(TrackedTensor::track(tensor.make_contiguous()));
  return id;
}

void GraphBuilder::output(std::string_view name, ValueId value) {
  check_name_text(name, "an output");
  const auto id = model_.strings.intern(name);
  auto& names = model_.output_names;
  if (names.size() > model_.outputs.size()) names.clear();  // the list of outputs was replaced
  for (auto i = names.size(); i < model_.outputs.size(); ++i) names.insert(model_.outputs[i].first);
  if (!names.insert(id).second)
    throw Failure(FailureKind::usage, fmt::format("the output name '{}' is taken", name));
  model_.outputs.emplace_back(id, value);
}

StringId GraphBuilder::node_name(const NodeSpec& spec) {
  if (!spec.name.empty()) {
    check_name(spec.name);
    return model_.strings.intern(spec.name);
  }
  const std::string preferred(short_name(spec.op));
  return model_.strings.intern(free_name(model_, preferred, last_numbers_[preferred]));
}

std::string GraphBuilder::implicit_name(const NodeRecord& node, const std::string& suffix) const {
  return fmt::format("{}_{}", model_.strings[node.name], suffix);
}

// Returns the existing value `node_suffix`, supplied by the user, or adds one.
ValueId GraphBuilder::find_or_add_value(const NodeRecord& node, const std::string& suffix,
                                        Role role, const tenon_type& type) {
  const auto name = implicit_name(node, suffix);
  const auto found = model_.value_names.find(model_.strings.intern(name));
  if (found == none || model_.values[found].role != role) return add_value(name, role, type);
  if (merge(model_.values[found].type, type) == Merge::contradiction)
    throw Failure(FailureKind::failed,
                  fmt::format("'{}' is {} but the node needs {}", name,
                              to_string(model_.values[found].type), to_string(type)));
  return found;
}

// An unconnected weight becomes a variable. Manifests older than 0.2 lack `weight`: every
// unconnected input becomes a variable, with a warning.
ValueId GraphBuilder::implicit_variable(const NodeRecord& node, const LoadedOperator& op,
                                        const InputInfo& input, const tenon_type& type) {
  if (!input.weight && op.warn != nullptr && *op.warn)
    (*op.warn)("weights of " + op.info->name,
               fmt::format("[{}] node '{}': input '{}' is not connected, so it becomes a variable; "
                           "the operator was built with an SDK older than "
                           "0.2, which does not declare which inputs are weights",
                           op.info->name, model_.strings[node.name], input.name));
  const auto there =
      model_.value_names.find(model_.strings.intern(implicit_name(node, input.name)));
  const bool exists = there != none && model_.values[there].role == Role::variable;
  if (!input.weight.value_or(true) && !exists)
    throw Failure(FailureKind::usage,
                  fmt::format("input '{}' is missing ({})", input.name, input.doc),
                  "connect a value to it; only weights become variables automatically");
  return find_or_add_value(node, input.name, Role::variable, type);
}

// Adds the edges, then the values that belong to the node: states, implicit variables, outputs.
void GraphBuilder::connect(NodeRecord& node, const LoadedOperator& op,
                           const std::vector<ValueId>& inputs, bool implicit_variables) {
  const auto& info = *op.info;
  node.first_edge = static_cast<std::uint32_t>(model_.edges.size());
  node.input_count = static_cast<std::uint32_t>(inputs.size());
  node.state_count = static_cast<std::uint32_t>(info.states.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& declared = info.inputs[std::min(i, info.inputs.size() - 1)];
    const bool missing = inputs[i] == none && !declared.optional;
    if (missing && declared.variadic)
      throw Failure(FailureKind::usage,
                    fmt::format("variadic input '{}' contains an empty value", declared.name));
    if (missing && !implicit_variables)
      throw Failure(FailureKind::usage,
                    fmt::format("input '{}' is missing ({})", declared.name, declared.doc));
    const auto value = missing ? implicit_variable(node, op, declared, unknown_type()) : inputs[i];
    model_.edges.push_back(value);
  }
  for (const auto& state : info.states) {
    const auto value = find_or_add_value(node, state.name, Role::state, unknown_type());
    model_.edges.push_back(value);
  }
  add_outputs(node, output_count(model_, node, info));
}

NodeId GraphBuilder::node(const NodeSpec& spec) {
  const auto& op = spec.loaded != nullptr ? *spec.loaded : plugins_.load(spec.op, spec.home);
  const auto& info = *op.info;
  complete_loaded();
  const auto before = mark();
  try {
    NodeRecord node;
    node.name = node_name(spec);
    check_node_device(model_.strings[node.name], spec.device);
    node.op = use_operator(model_, binding_, plugins_, op);
    node.device = model_.strings.intern(spec.device);
    try {
      add_parameters(model_, node, info, spec.attributes);
      connect(node, op, order_inputs(info, spec.inputs, spec.named_inputs),
              spec.implicit_variables);
    } catch (const Failure& failure) {
      rethrow_at(fmt::format("[{}] node '{}'", info.name, model_.strings[node.name]), failure);
    }
    if (spec.object) model_.objects.emplace(static_cast<NodeId>(before.nodes), spec.object);
    return finish(node, before);
  } catch (...) {
    roll_back(before);
    throw;
  }
}

NodeId GraphBuilder::finish(NodeRecord& node, const Mark& before) {
  const auto id = static_cast<NodeId>(before.nodes);
  model_.nodes.push_back(node);
  model_.node_names.add(node.name, id);
  bind(model_, plugins_, binding_);
  Inference inference(model_, binding_, TypeTable(model_.values));
  inference.run_from(id);
  note(inference);
  add_implicit_variables(inference.implicit_variables(), id);
  return id;
}

NodeId GraphBuilder::backward(NodeId forward, const std::vector<ValueId>& edges,
                              std::string_view name) {
  complete_loaded();
  const auto before = mark();
  auto node = derived_record(forward, Pass::backward, name);
  const auto inputs = node.input_count, outputs = node.output_count;
  node.state_count = 0;
  node.attribute_count = 0;
  try {
    add_edges(node, edges, std::size_t{inputs} + 2 * std::size_t{outputs});
    add_outputs(node, inputs);
    return finish(node, before);
  } catch (...) {
    roll_back(before);
    throw;
  }
}

NodeId GraphBuilder::copy_node(NodeId forward, const std::vector<ValueId>& inputs,
                               std::string_view name, const Attributes& changed,
                               std::string_view device) {
  complete_loaded();
  const auto before = mark();
  auto node = derived_record(forward, Pass::forward, name);
  node.origin = none;
  if (!device.empty()) node.device = model_.strings.intern(device);
  try {
    if (changed.begin() != changed.end()) {
      Attributes all = changed;
      for (const auto& [parameter, value] : all_parameters(model_, node)) all.set(parameter, value);
      add_parameters(model_, node, *binding_.nodes[forward].op->info, all);
    }
    add_edges(node, inputs, node.input_count);
    add_outputs(node, node.output_count);
    if (const auto object = model_.objects.find(forward); object != model_.objects.end())
      model_.objects.emplace(static_cast<NodeId>(before.nodes), std::shared_ptr(object->second));
    return finish(node, before);
  } catch (...) {
    roll_back(before);
    throw;
  }
}

NodeId GraphBuilder::recompute(NodeId forward, const std::vector<ValueId>& inputs,
                               std::string_view name) {
  require_repeatable(forward);
  complete_loaded();
  const auto before = mark();
  auto node = derived_record(forward, Pass::recompute, name);
  try {
    add_edges(node, inputs, node.input_count);
    add_outputs(node, node.output_count);
    return finish(node, before);
  } catch (...) {
    roll_back(before);
    throw;
  }
}

void GraphBuilder::require_repeatable(NodeId id) const {
  if (model_.nodes[id].state_count > 0)
    throw Failure(FailureKind::usage,
                  fmt::format("{}: cannot be recomputed: its states would change twice",
                              node_label(model_, id)));
  if (const auto& info = model_.operators[model_.nodes[id].op].info; info && info->communicates)
    throw Failure(
        FailureKind::usage,
        fmt::format(
            "{}: cannot be recomputed: it communicates with other processes, which expect it once",
            node_label(model_, id)));
}

NodeRecord GraphBuilder::derived_record(NodeId forward, Pass pass, std::string_view name) {
  auto node = model_.nodes[forward];
  if (node.pass != Pass::forward)
    throw Failure(FailureKind::usage, fmt::format("{}: is itself derived from another node",
                                                  node_label(model_, forward)));
  const auto node_name = model_.strings[node.name];
  if (!name.empty()) check_name(name);
  const auto preferred =
      fmt::format("{}_{}", node_name, pass == Pass::backward ? "backward" : "recomputed");
  node.name =
      model_.strings.intern(name.empty() ? free_name(model_, preferred) : std::string(name));
  node.pass = pass;
  node.origin = forward;
  return node;
}

void GraphBuilder::add_edges(NodeRecord& node, const std::vector<ValueId>& inputs,
                             std::size_t count) {
  if (inputs.size() > count)
    throw Failure(FailureKind::usage,
                  fmt::format("node '{}' is given {} but takes {}", model_.strings[node.name],
                              counted(inputs.size(), "input"), count));
  node.first_edge = static_cast<std::uint32_t>(model_.edges.size());
  node.input_count = static_cast<std::uint32_t>(count);
  model_.edges.insert(model_.edges.end(), inputs.begin(), inputs.end());
  model_.edges.resize(node.first_edge + count, none);
}

void GraphBuilder::add_outputs(NodeRecord& node, std::uint32_t count) {
  node.output_count = count;
  node.first_output = static_cast<std::uint32_t>(model_.values.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    auto& value = model_.values.emplace_back();
    value.producer = static_cast<NodeId>(model_.nodes.size());
    value.index = i;
    value.type = unknown_type();
  }
}

void GraphBuilder::update(ValueId variable, ValueId value) {
  const auto name = value_label(model_, variable);
  if (model_.values[variable].role != Role::variable)
    throw Failure(FailureKind::usage,
                  fmt::format("'{}' cannot be updated: it is not a variable", name));
  if (model_.values[variable].updated) {
    const auto existing =
        std::find_if(model_.updates.begin(), model_.updates.end(),
                     [&](const auto& update) { return update.first == variable; });
    throw Failure(FailureKind::usage, fmt::format("'{}' is already updated by '{}'", name,
                                                  value_label(model_, existing->second)));
  }
  if (merge(model_.values[variable].type, model_.values[value].type) == Merge::contradiction)
    throw Failure(FailureKind::usage, fmt::format("'{}' is {} but would be updated with {}", name,
                                                  to_string(model_.values[variable].type),
                                                  to_string(model_.values[value].type)));
  model_.add_update(variable, value);
}

void GraphBuilder::add_implicit_variables(
    const std::vector<std::pair<std::uint32_t, tenon_type>>& variables, NodeId first_node) {
  NodeId id = first_node;
  for (const auto& [edge, type] : variables) {
    if (model_.edges[edge] != none) continue;
    while (edge >= model_.nodes[id].first_edge + model_.nodes[id].input_count) ++id;
    const auto& node = model_.nodes[id];
    const auto& declared = binding_.nodes[id].op->info->inputs[edge - node.first_edge];
    auto present = type;
    present.present = 1;
    const auto values = model_.values.size();
    const auto variable = at_node(model_, id, [&] {
      return implicit_variable(node, *binding_.nodes[id].op, declared, present);
    });
    if (variable >= values) model_.declared_types.emplace(variable, unknown_type());
    model_.edges[edge] = variable;
  }
}

// Types that a file declares for node outputs are checked against the inferred ones and never
// replace them: kernels trust these types. All types are inferred again if the application has
// written to a constant that determined some.
void GraphBuilder::complete() {
  const auto bound = binding_.nodes.size(), known = binding_.operators.size();
  const auto inferred_from = model_.inferred_from;
  const bool outdated = !inferred_from.find_changed().empty();
  const auto first = outdated ? 0 : bound;
  std::vector<tenon_type> before;
  if (first < model_.nodes.size()) {
    before = declared_types(model_);
    for (auto& value : model_.values)
      if (value.producer != none && value.producer >= first) value.type = unknown_type();
  }
  if (outdated) {
    model_.inferred_from.clear();
    for (const auto& [value, type] : model_.declared_types)
      if (model_.values[value].tensor == none) model_.values[value].type = type;
  }
  try {
    infer_all();
    for (ValueId value = 0; value < before.size() && !outdated; ++value)
      if (model_.values[value].producer != none) require_declared_type(value, before[value]);
  } catch (...) {
    for (std::size_t value = 0; value < before.size(); ++value)
      model_.values[value].type = before[value];
    model_.inferred_from = inferred_from;
    binding_.nodes.resize(std::min(binding_.nodes.size(), bound));
    // the installed operators may change before the next attempt
    binding_.operators.resize(std::min(binding_.operators.size(), known));
    throw;
  }
}

// Call before adding a node: the graph may have been read from a file, or the application may have
// written to its constants.
void GraphBuilder::complete_loaded() {
  if (binding_.nodes.size() < model_.nodes.size() ||
      binding_.operators.size() < model_.operators.size() || model_.inferred_from.changed())
    complete();
}

void GraphBuilder::infer_all() {
  bind(model_, plugins_, binding_);
  for (;;) {
    Inference inference(model_, binding_, TypeTable(model_.values));
    inference.run();
    note(inference);
    auto variables = inference.implicit_variables();
    if (variables.empty()) return;
    std::sort(variables.begin(), variables.end(),
              [](const auto& left, const auto& right) { return left.first < right.first; });
    add_implicit_variables(variables, 0);
  }
}

// Notes what is needed to infer all types again.
void GraphBuilder::note(const Inference& inference) {
  model_.declared_types.insert(inference.declared_types().begin(),
                               inference.declared_types().end());
  for (const auto value : inference.determining_constants())
    model_.inferred_from.add(model_.tensors[model_.values[value].tensor],
                             value_label(model_, value));
}

void GraphBuilder::require_declared_type(ValueId id, tenon_type declared) const {
  const auto& value = model_.values[id];
  if (merge(declared, value.type) != Merge::contradiction) return;
  throw Failure(FailureKind::file,
                fmt::format("{}: the file declares output '{}' as {}, but the operator returns {}",
                            node_label(model_, value.producer), value_label(model_, id),
                            to_string(declared), to_string(value.type)),
                "the file is damaged or forged, or was written with another version of the "
                "operator; rebuild it");
}

}  // namespace tenon
