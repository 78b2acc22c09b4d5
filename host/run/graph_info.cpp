// Lists the contents of a graph.
#include <tenon/host/graph_info.hpp>

#include "graph/inference/operator_inference.hpp"
#include "graph/name_mapping.hpp"
#include "graph/operators/operator_use.hpp"
#include "graph/parameters.hpp"
#include "graph/requested_outputs.hpp"
#include "run/graph_impl.hpp"

namespace tenon {
namespace {

/// The operator's doc of a node's output; null if the operator does not declare outputs.
const std::string* output_doc(const GraphModel& model, const NodeRecord& node,
                              std::uint32_t index) {
  const auto& outputs = model.operators[node.op].info->outputs;
  return outputs.empty() ? nullptr : &outputs[std::min<std::size_t>(index, outputs.size() - 1)].doc;
}

/// The operator's doc of an input or state; null if there is none.
const std::string* edge_doc(const GraphModel& model, const NodeRecord& node, std::uint32_t i) {
  const auto& info = *model.operators[node.op].info;
  if (i >= node.input_count)
    return i - node.input_count < info.states.size() ? &info.states[i - node.input_count].doc
                                                     : nullptr;
  return info.inputs.empty() ? nullptr : &info.inputs[declared_input(info, i)].doc;
}

// Docs of all values: from the forward node that computes the value, else from its first reader.
class Docs {
 public:
  explicit Docs(const GraphModel& model) : docs_(model.values.size(), nullptr) {
    for (const auto& node : model.nodes) {
      if (node.pass != Pass::forward) continue;
      for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i) {
        const auto value = model.edges[node.first_edge + i];
        if (value != none && docs_[value] == nullptr) docs_[value] = edge_doc(model, node, i);
      }
    }
    for (const auto& node : model.nodes) {
      if (node.pass == Pass::backward) continue;
      for (std::uint32_t i = 0; i < node.output_count; ++i)
        if (const auto* doc = output_doc(model, node, i)) docs_[node.first_output + i] = doc;
    }
  }
  std::string of(ValueId value) const {
    return docs_[value] == nullptr ? std::string() : *docs_[value];
  }

 private:
  std::vector<const std::string*> docs_;
};

// The doc of one value: of the forward node that computes it, else of its first reader.
std::string doc_of(const GraphModel& model, ValueId id) {
  const auto producer = model.values[id].producer;
  if (producer != none && model.nodes[producer].pass != Pass::backward)
    if (const auto* doc = output_doc(model, model.nodes[producer], model.values[id].index))
      return *doc;
  for (const auto& node : model.nodes)
    for (std::uint32_t i = 0; node.pass == Pass::forward && i < node.input_count + node.state_count;
         ++i)
      if (model.edges[node.first_edge + i] == id)
        if (const auto* doc = edge_doc(model, node, i)) return *doc;
  return {};
}

ValueInfo info_of(const GraphModel& model, std::string doc, ValueId id, std::string name) {
  const auto& value = model.values[id];
  ValueInfo info{.name = std::move(name),
                 .role = value.role,
                 .shape = shape_of(value.type),
                 .doc = std::move(doc)};
  if (value.type.dtype != TENON_DTYPE_UNKNOWN) info.dtype = static_cast<DType>(value.type.dtype);
  info.storage = value.tensor == none ? static_cast<Storage>(value.type.storage)
                                      : model.tensors[value.tensor].storage();
  if (value.categories != none)
    for (const auto name : model.categories[value.categories])
      info.categories.emplace_back(model.strings[name]);
  if (value.dims != none)
    for (const auto name : model.dim_names[value.dims])
      info.dim_names.emplace_back(model.strings[name]);
  return info;
}

// Names an output as the bound node's operator does.
void name_output(ValueInfo& info, const GraphModel& model, const NodeRecord& node,
                 const OperatorInfo& op, std::uint32_t index) {
  for (const auto& declared : op.outputs) {
    const auto count = count_of(model, node, declared);
    if (index >= count) {
      index -= count;
      continue;
    }
    info.output = declared.count.empty() ? declared.name : declared.name + std::to_string(index);
    info.hidden = declared.hidden;
    return;
  }
}

std::vector<ValueInfo> values_of(const GraphModel& model, Role role) {
  const Docs docs(model);
  std::vector<ValueInfo> found;
  for (ValueId id = 0; id < model.values.size(); ++id)
    if (model.values[id].role == role)
      found.push_back(info_of(model, docs.of(id), id, value_label(model, id)));
  return found;
}

}  // namespace

std::string type_text(const ValueInfo& value) {
  auto type = type_of(value.dtype.value_or(unknown_dtype), value.shape);
  type.storage = static_cast<std::uint8_t>(value.storage);
  auto text = to_string(type);
  std::size_t at = 0;
  for (int i = 0; i < type.rank && static_cast<std::size_t>(i) < value.dim_names.size(); ++i) {
    if (type.dims[i] >= 0) continue;
    at = text.find('?', at);
    const auto& name = value.dim_names[static_cast<std::size_t>(i)];
    if (!name.empty()) text.replace(at, 1, name);
    at += std::max<std::size_t>(name.size(), 1);
  }
  return text;
}

std::vector<ValueInfo> Graph::inputs() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  const auto graph = impl_->up_to_date();
  const auto& model = graph->model;
  const Docs docs(model);
  std::vector<ValueInfo> found;
  for (const auto id : model.inputs)
    found.push_back(info_of(model, docs.of(id), id, value_label(model, id)));
  return found;
}

std::vector<ValueInfo> Graph::outputs() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  const auto graph = impl_->up_to_date();
  const auto& model = graph->model;
  const Docs docs(model);
  std::vector<ValueInfo> found;
  for (const auto& [name, id] : model.outputs) {
    found.push_back(info_of(model, docs.of(id), id, std::string(model.strings[name])));
    found.back().value = value_label(model, id);
  }
  return found;
}

std::vector<ValueInfo> Graph::variables() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  return values_of(impl_->up_to_date()->model, Role::variable);
}
std::vector<ValueInfo> Graph::states() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  return values_of(impl_->up_to_date()->model, Role::state);
}
std::vector<ValueInfo> Graph::constants() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  return values_of(impl_->up_to_date()->model, Role::constant);
}

std::vector<ValueInfo> Graph::needed_inputs(std::span<const std::string> outputs,
                                            bool training) const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  const auto graph = impl_->up_to_date();
  const auto& model = graph->model;
  const Docs docs(model);
  std::vector<ValueInfo> found;
  for (const auto id : tenon::needed_inputs(model, outputs, training))
    found.push_back(info_of(model, docs.of(id), id, value_label(model, id)));
  return found;
}

std::map<std::string, std::string> Graph::changed_names() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  return tenon::changed_names(impl_->model());
}

std::vector<UsedOperator> Graph::operators() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  const auto& model = impl_->model();
  std::vector<UsedOperator> found;
  for (const auto& use : model.operators) {
    auto& op = found.emplace_back(
        UsedOperator{.name = use.name, .space = use.info->space, .version = use.version});
    if (use.plugin != none)
      op.plugin = model.plugins[use.plugin].name,
      op.plugin_version = model.plugins[use.plugin].version;
  }
  return found;
}

std::optional<TrainingInfo> Graph::training() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  const auto& record = impl_->model().training;
  if (!record) return {};
  return TrainingInfo{.optimizer = record->optimizer,
                      .parameters = record->parameters,
                      .step = record->step,
                      .epoch = record->epoch,
                      .seed = record->seed,
                      .examples = record->data_position,
                      .slots = record->slots.size()};
}

ValueInfo Graph::info(Value value) const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  const auto id = impl_->id_of(value);
  if (id == none) throw Failure(FailureKind::usage, "an empty value has no type");
  const auto graph = impl_->up_to_date();
  const auto& model = graph->model;
  auto info = info_of(model, doc_of(model, id), id, value_label(model, id));
  const auto producer = model.values[id].producer;
  if (producer != none && model.nodes[producer].pass == Pass::forward &&
      producer < impl_->binding().nodes.size())
    if (const auto& op = impl_->binding().nodes[producer].info)
      name_output(info, model, model.nodes[producer], *op, model.values[id].index);
  return info;
}

std::vector<NodeInfo> Graph::nodes() const {
  const GraphUsers::ReadGuard use(impl_of(*this).users);
  const auto& model = impl_->model();
  std::vector<NodeInfo> found;
  for (const auto& node : model.nodes) {
    auto& info = found.emplace_back(NodeInfo{.name = std::string(model.strings[node.name]),
                                             .op = operator_label(model, node.op)});
    info.kind = node.pass == Pass::forward    ? NodeKind::forward
                : node.pass == Pass::backward ? NodeKind::backward
                                              : NodeKind::recompute;
    if (node.origin != none) info.of = model.strings[model.nodes[node.origin].name];
    const auto label = [&](ValueId id) {
      return id == none ? std::string() : value_label(model, id);
    };
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      info.inputs.push_back(label(model.edges[node.first_edge + i]));
    for (std::uint32_t i = 0; i < node.state_count; ++i)
      info.states.push_back(label(model.edges[node.first_edge + node.input_count + i]));
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      info.outputs.push_back(label(node.first_output + i));
    for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
      const auto& record = model.attributes[node.first_attribute + i];
      info.attributes.set(std::string(model.strings[record.name]), value_of(model, record));
    }
    info.device = model.strings[node.device];
  }
  return found;
}

}  // namespace tenon
