// Importer of a subgraph: values of enclosing graphs that it reads become inputs of its graph.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graph/inference/type.hpp"
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {

Importer::Importer(Importer& outer, const proto::Graph& graph)
    : host_(outer.host_),
      model_(outer.model_),
      options_(outer.options_),
      catalog_(outer.catalog_),
      tensors_(outer.model_, outer.options_.trust_links),
      graph_(outer.host_),
      builder_(impl_of(graph_).builder()),
      placeholders_(impl_of(graph_).edit().model, impl_of(graph_).edit().binding),
      function_(outer.function_),
      arguments_(outer.arguments_),
      may_defer_(outer.may_defer_),
      outer_(&outer),
      home_(outer.function_) {
  for (const auto& tensor : graph.initializers) initializers_.emplace(tensor.name, &tensor);
  for (const auto& tensor : graph.sparse_initializers)
    sparse_initializers_.emplace(tensor.values->name, &tensor);
}

// Elements are passed along; whether they stay in this graph is decided at their use.
Operand* Importer::find_outside(std::string_view name) {
  const auto* found = outer_ == nullptr ? nullptr : outer_->find_or_read(name);
  if (found == nullptr) return nullptr;
  if (found->sequence != nullptr) {
    auto elements = *found->sequence;
    for (auto& element : elements)
      if (!element.known()) element = {captured(element), {}, {}, element.names};
    Operand inside;
    inside.sequence = std::make_shared<const std::vector<Operand>>(std::move(elements));
    return &scope_.emplace(name, std::move(inside)).first->second;
  }
  if (found->empty()) return &scope_.emplace(name, Operand{}).first->second;
  if (found->known())
    return &scope_.emplace(name, Operand{none, found->elements, found->initializer, found->names})
                .first->second;
  return &scope_.emplace(name, Operand{captured(*found), {}, {}, found->names}).first->second;
}

ValueId Importer::captured(const Operand& outside) {
  auto operand = outside;
  const auto value = outer_->value_of(operand);
  if (const auto found = captured_.find(value); found != captured_.end()) return found->second;
  auto type = outer_->type_of({value, {}, {}});
  const auto rank = captured_types_ == CapturedTypes::dtypes ? -1 : type.rank;
  if (captured_types_ != CapturedTypes::whole)
    type =
        tenon::type_of(static_cast<DType>(type.dtype), rank < 0 ? Shape() : Shape::of_rank(rank));
  const auto input = builder_.input(free_name("outer"), type);
  captures_.emplace_back(value, input);
  captured_.emplace(value, input);
  return input;
}

const proto::Graph& NodeImport::graph(std::string_view name) {
  const auto* found = attribute(name);
  const auto* const* graph =
      found == nullptr ? nullptr : std::get_if<const proto::Graph*>(&found->value);
  if (graph == nullptr) refuse(fmt::format("its attribute '{}' is not a graph", name));
  return **graph;
}

std::vector<Operand> NodeImport::inlined(const proto::Graph& graph,
                                         const std::vector<Operand>& inputs) {
  require(
      graph.inputs.size() == inputs.size(),
      fmt::format("a subgraph has {} inputs, but needs {}", graph.inputs.size(), inputs.size()));
  std::size_t weight = inputs.size();
  if (!inputs.empty()) {  // it may be inlined more than once
    for_each_node(graph.nodes, [&](const proto::Node& node) { weight += 1 + node.inputs.size(); });
    importer_.charge_inlined(*this, weight, "subgraphs");
  }
  return importer_.import_inside(graph, inputs);
}

// Exchanges the state that all importers of one model share.
void Importer::swap_shared_state(Importer& other) {
  std::swap(missing_, other.missing_);
  std::swap(notes_, other.notes_);
  std::swap(read_, other.read_);
  std::swap(inlined_, other.inlined_);
  std::swap(made_, other.made_);
}

// Names defined in a branch that certainly runs are valid until its end.
std::vector<Operand> Importer::import_inside(const proto::Graph& graph,
                                             const std::vector<Operand>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) define(graph.inputs[i].name, inputs[i]);
  for (const auto& tensor : graph.initializers) define(tensor.name, read(tensor, tensor.name));
  for (const auto& tensor : graph.sparse_initializers)
    define(tensor.values->name, {none, tensors_.read(tensor), tensor.values->name});
  for (const auto& output : graph.outputs) read_.insert(output.name);
  for (const auto& node : graph.nodes) import_node(node);
  std::vector<Operand> results;
  for (const auto& output : graph.outputs)
    if (missing_.empty()) results.push_back(find(output.name));
  for (const auto& input : graph.inputs) scope_.erase(input.name);
  for (const auto& tensor : graph.initializers) scope_.erase(tensor.name);
  for (const auto& tensor : graph.sparse_initializers) scope_.erase(tensor.values->name);
  for (const auto& node : graph.nodes)
    for (const auto name : node.outputs) scope_.erase(name);
  return results;
}

}  // namespace tenon::onnx
