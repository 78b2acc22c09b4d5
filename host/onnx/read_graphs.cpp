// Reads nodes, graphs and functions.
#include "onnx/fields.hpp"
#include "onnx/memory.hpp"
#include "onnx/reader.hpp"

namespace tenon::onnx {

void MessageReader::read(Wire wire, proto::Node& node) {
  const FieldCounts counts(wire);
  auto inputs = fill<std::string_view>(wire, counts[field::node::input], "inputs");
  auto outputs = fill<std::string_view>(wire, counts[field::node::output], "outputs");
  auto attributes = fill<proto::Attribute>(wire, counts[field::node::attribute], "attributes");
  while (wire.next()) {
    switch (wire.field()) {
      case field::node::input:
        inputs.next() = wire.text("input");
        break;
      case field::node::output:
        outputs.next() = wire.text("output");
        break;
      case field::node::name:
        node.name = wire.text("name");
        break;
      case field::node::op_type:
        node.type = wire.text("op_type");
        break;
      case field::node::attribute:
        read(wire.message("attribute", "an attribute"), attributes.next());
        break;
      case field::node::domain:
        node.domain = plain_domain(wire.text("domain"));
        break;
      case field::node::overload:
        node.overload = wire.text("overload");
        break;
      default:
        break;
    }
  }
  node.inputs = inputs, node.outputs = outputs, node.attributes = attributes;
  if (node.type.empty()) wire.refuse("node '{}' has no op_type", shown(node.name));
  check_names(wire, node.attributes);
}

void MessageReader::read(Wire wire, proto::Graph& graph) {
  if (++graphs_ > max_graphs) wire.refuse("graphs are nested more than {} levels deep", max_graphs);
  const FieldCounts counts(wire);
  auto nodes = fill<proto::Node>(wire, counts[field::graph::node], "nodes");
  auto inputs = fill<proto::ValueInfo>(wire, counts[field::graph::input], "inputs");
  auto outputs = fill<proto::ValueInfo>(wire, counts[field::graph::output], "outputs");
  auto value_infos =
      fill<proto::ValueInfo>(wire, counts[field::graph::value_info], "types of values");
  auto initializers = fill<proto::Tensor>(wire, counts[field::graph::initializer], "initializers");
  auto sparse = fill<proto::SparseTensor>(wire, counts[field::graph::sparse_initializer],
                                          "sparse initializers");
  while (wire.next()) {
    switch (wire.field()) {
      case field::graph::node:
        read(wire.message("node", "a node"), nodes.next());
        break;
      case field::graph::name:
        graph.name = wire.text("name");
        break;
      case field::graph::initializer:
        read(wire.message("initializer", "an initializer"), initializers.next());
        break;
      case field::graph::sparse_initializer:
        read(wire.message("sparse_initializer", "a sparse initializer"), sparse.next());
        break;
      case field::graph::input:
        read(wire.message("input", "an input"), inputs.next());
        break;
      case field::graph::output:
        read(wire.message("output", "an output"), outputs.next());
        break;
      case field::graph::value_info:
        read(wire.message("value_info", "the type of a value"), value_infos.next());
        break;
      default:
        break;
    }
  }
  graph.nodes = nodes, graph.inputs = inputs, graph.outputs = outputs,
  graph.value_infos = value_infos;
  graph.initializers = initializers, graph.sparse_initializers = sparse;
  check_names(wire, graph);
  --graphs_;
}

void MessageReader::read(Wire wire, proto::Function& function) {
  in_function_ = true;
  const FieldCounts counts(wire);
  auto inputs = fill<std::string_view>(wire, counts[field::function::input], "inputs");
  auto outputs = fill<std::string_view>(wire, counts[field::function::output], "outputs");
  auto attributes = fill<std::string_view>(wire, counts[field::function::attribute], "attributes");
  auto defaults =
      fill<proto::Attribute>(wire, counts[field::function::attribute_proto], "attributes");
  auto nodes = fill<proto::Node>(wire, counts[field::function::node], "nodes");
  auto opsets =
      fill<proto::OpsetImport>(wire, counts[field::function::opset_import], "opset imports");
  auto value_infos =
      fill<proto::ValueInfo>(wire, counts[field::function::value_info], "types of values");
  while (wire.next()) {
    switch (wire.field()) {
      case field::function::name:
        function.name = wire.text("name");
        break;
      case field::function::domain:
        function.domain = plain_domain(wire.text("domain"));
        break;
      case field::function::overload:
        function.overload = wire.text("overload");
        break;
      case field::function::input:
        inputs.next() = wire.text("input");
        break;
      case field::function::output:
        outputs.next() = wire.text("output");
        break;
      case field::function::attribute:
        attributes.next() = wire.text("attribute");
        break;
      case field::function::attribute_proto:
        read(wire.message("attribute_proto", "an attribute"), defaults.next());
        break;
      case field::function::node:
        read(wire.message("node", "a node"), nodes.next());
        break;
      case field::function::opset_import:
        read(wire.message("opset_import", "an opset import"), opsets.next());
        break;
      case field::function::value_info:
        read(wire.message("value_info", "the type of a value"), value_infos.next());
        break;
      default:
        break;
    }
  }
  function.inputs = inputs, function.outputs = outputs, function.attributes = attributes,
  function.attribute_defaults = defaults;
  function.nodes = nodes, function.opset_imports = opsets, function.value_infos = value_infos;
  if (function.name.empty()) wire.refuse("it has no name");
  check_names(wire, function);
  in_function_ = false;
}

// Few attributes are compared pairwise; for many, quadratic time would be too slow.
void MessageReader::check_names(const Wire& wire, List<proto::Attribute> attributes) {
  const auto refuse = [&](std::string_view name) {
    wire.refuse("duplicate attribute '{}'", shown(name));
  };
  if (attributes.size() <= 8) {
    for (const auto& one : attributes)
      for (const auto* other = attributes.begin(); other != &one; ++other)
        if (one.name == other->name) refuse(one.name);
    return;
  }
  DistinctNames names(attributes.size(), arena_.budget());
  for (const auto& attribute : attributes)
    if (!names.add(attribute.name)) refuse(attribute.name);
}

namespace {

std::size_t count_outputs(List<proto::Node> nodes) {
  std::size_t count = 0;
  for (const auto& node : nodes) count += node.outputs.size();
  return count;
}

void add_outputs(const Wire& wire, DistinctNames& names, List<proto::Node> nodes) {
  for (const auto& node : nodes)
    for (const auto output : node.outputs)
      if (!output.empty() && !names.add(output))
        wire.refuse("output '{}' of node '{}' ({}) reuses the name of an earlier value",
                    shown(output), shown(node.name), shown(node.type));
}

}  // namespace

void MessageReader::check_names(const Wire& wire, const proto::Graph& graph) {
  const auto stored = graph.initializers.size() + graph.sparse_initializers.size();
  DistinctNames values(graph.inputs.size() + stored + count_outputs(graph.nodes), arena_.budget());
  for (const auto& input : graph.inputs)
    if (!values.add(input.name)) wire.refuse("duplicate input '{}'", shown(input.name));
  DistinctNames tensors(stored, arena_.budget());
  const auto add = [&](std::string_view name) {
    if (name.empty()) wire.refuse("an initializer has no name");
    if (!tensors.add(name)) wire.refuse("duplicate initializer '{}'", shown(name));
    values.add(name);  // may name an input, whose default it then provides
  };
  for (const auto& tensor : graph.initializers) add(tensor.name);
  for (const auto& tensor : graph.sparse_initializers) add(tensor.values->name);
  add_outputs(wire, values, graph.nodes);
}

void MessageReader::check_names(const Wire& wire, const proto::Function& function) {
  DistinctNames values(function.inputs.size() + count_outputs(function.nodes), arena_.budget());
  for (const auto input : function.inputs)
    if (!values.add(input))
      wire.refuse("function '{}' has duplicate input '{}'", shown(function.name), shown(input));
  add_outputs(wire, values, function.nodes);
  DistinctNames attributes(function.attributes.size() + function.attribute_defaults.size(),
                           arena_.budget());
  const auto add = [&](std::string_view name) {
    if (!attributes.add(name))
      wire.refuse("function '{}' has duplicate attribute '{}'", shown(function.name), shown(name));
  };
  for (const auto name : function.attributes) add(name);
  for (const auto& attribute : function.attribute_defaults) add(attribute.name);
}

}  // namespace tenon::onnx
