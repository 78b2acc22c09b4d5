#include "graph/rewrite/subgraph.hpp"

#include <unordered_map>

namespace tenon {
namespace {

class Extraction {
 public:
  Extraction(const GraphModel& from, const Binding& binding, const std::vector<Tensor>& tensors)
      : from_(from), binding_(binding), tensors_(tensors) {
    to_.model.name = from.name;
    to_.model.plugins = from.plugins;
    to_.model.tables = from.tables;
  }

  void add_inputs() {
    for (const auto input : from_.inputs) source(input);
  }
  void add(NodeId id) {
    auto& model = to_.model;
    auto node = from_.nodes[id];
    const auto added = static_cast<NodeId>(model.nodes.size());
    std::vector<ValueId> edges;
    for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i)
      edges.push_back(from_.edges[node.first_edge + i] == none
                          ? none
                          : source(from_.edges[node.first_edge + i]));
    node.name = text(node.name), node.device = text(node.device);
    node.op = op_of(node.op);
    if (node.origin != none) node.origin = nodes_.at(node.origin);
    node.first_edge = static_cast<std::uint32_t>(model.edges.size());
    model.edges.insert(model.edges.end(), edges.begin(), edges.end());
    node.first_attribute = add_attributes(node);
    const auto old = node.first_output;
    node.first_output = static_cast<ValueId>(model.values.size());
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      values_[old + i] = static_cast<ValueId>(model.values.size());
      auto& value = model.values.emplace_back();
      const auto& copied = from_.values[old + i];
      value.producer = added, value.index = i, value.type = copied.type;
      value.categories = copied.categories;
      copy_names(from_.categories, model.categories, value.categories);
    }
    if (const auto several = from_.rewritten_from.find(id); several != from_.rewritten_from.end())
      for (const auto name : several->second) model.rewritten_from[added].push_back(text(name));
    if (const auto object = from_.objects.find(id); object != from_.objects.end())
      model.objects.emplace(added, object->second);
    model.node_names.add(node.name, added);
    model.nodes.push_back(node);
    to_.binding.nodes.push_back(binding_.nodes[id]);
    nodes_.emplace(id, added);
  }

  GraphSnapshot finish(const std::vector<std::pair<std::string, ValueId>>& outputs) {
    for (const auto& [name, value] : outputs)
      to_.model.outputs.emplace_back(to_.model.strings.intern(name), source(value));
    return std::move(to_);
  }

 private:
  StringId text(StringId id) { return to_.model.strings.intern(from_.strings[id]); }

  std::uint32_t op_of(std::uint32_t op) {
    const auto [found, added] =
        operators_.try_emplace(op, static_cast<std::uint32_t>(to_.model.operators.size()));
    if (added) {
      to_.model.operators.push_back(from_.operators[op]);
      to_.binding.operators.push_back(binding_.operators[op]);
    }
    return found->second;
  }

  std::uint32_t add_attributes(const NodeRecord& node) {
    auto& model = to_.model;
    const auto first = static_cast<std::uint32_t>(model.attributes.size());
    for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
      auto record = from_.attributes[node.first_attribute + i];
      record.name = text(record.name);
      if (record.kind == TENON_ATTR_TEXT || record.kind == TENON_ATTR_TEXTS)
        record.i = text(static_cast<StringId>(record.i));
      else if (record.kind == TENON_ATTR_INTS)
        record.first = append(model.ints, from_.ints, record);
      else if (record.kind == TENON_ATTR_FLOATS)
        record.first = append(model.floats, from_.floats, record);
      model.attributes.push_back(record);
    }
    return first;
  }
  template <class Pool>
  static std::uint32_t append(Pool& to, const Pool& from, const AttributeRecord& record) {
    const auto first = static_cast<std::uint32_t>(to.size());
    to.insert(to.end(), from.begin() + record.first, from.begin() + record.first + record.count);
    return first;
  }

  void copy_names(const std::vector<std::vector<StringId>>& from,
                  std::vector<std::vector<StringId>>& to, std::uint32_t& list) {
    if (list == none) return;
    auto& names = to.emplace_back();
    for (const auto name : from[list]) names.push_back(text(name));
    list = static_cast<std::uint32_t>(to.size() - 1);
  }

  // Returns the value's number in the new graph, copying values that no node produces on first use.
  ValueId source(ValueId value) {
    if (const auto known = values_.find(value); known != values_.end()) return known->second;
    auto& model = to_.model;
    const auto id = static_cast<ValueId>(model.values.size());
    auto record = from_.values[value];
    record.name = text(record.name);
    record.updated = false;
    const bool has_session_tensor = value < tensors_.size() && tensors_[value];
    if (has_session_tensor || record.tensor != none) {
      model.tensors.push_back(has_session_tensor ? tensors_[value] : from_.tensors[record.tensor]);
      record.tensor = static_cast<std::uint32_t>(model.tensors.size() - 1);
    }
    copy_names(from_.dim_names, model.dim_names, record.dims);
    copy_names(from_.categories, model.categories, record.categories);
    if (record.role == Role::input) model.inputs.push_back(id);
    model.value_names.add(record.name, id);
    model.values.push_back(record);
    return values_[value] = id;
  }

  const GraphModel& from_;
  const Binding& binding_;
  const std::vector<Tensor>& tensors_;
  GraphSnapshot to_;
  std::unordered_map<ValueId, ValueId> values_;
  std::unordered_map<NodeId, NodeId> nodes_;
  std::unordered_map<std::uint32_t, std::uint32_t> operators_;
};

}  // namespace

GraphSnapshot copy_graph(const GraphModel& model, const Binding& binding,
                         const std::vector<Tensor>& tensors) {
  Extraction extraction(model, binding, tensors);
  extraction.add_inputs();
  std::vector<std::pair<std::string, ValueId>> outputs;
  for (NodeId id = 0; id < model.nodes.size(); ++id) extraction.add(id);
  for (const auto& [name, value] : model.outputs) outputs.emplace_back(model.strings[name], value);
  return extraction.finish(outputs);
}

GraphSnapshot extract_subgraph(const GraphModel& model, const Binding& binding,
                               const std::vector<NodeId>& nodes,
                               const std::vector<std::pair<std::string, ValueId>>& outputs,
                               const std::vector<Tensor>& tensors) {
  Extraction extraction(model, binding, tensors);
  for (const auto id : nodes) extraction.add(id);
  return extraction.finish(outputs);
}

}  // namespace tenon
