// The graph in the metadata: columns of values, nodes and attributes.
#include "file/tenon/metadata_builder.hpp"
#include "file/tenon/table_columns.hpp"

namespace tenon {
namespace {

std::vector<std::uint32_t> dim_names(MetadataBuilder& to, const ValueRecord& value) {
  std::vector<std::uint32_t> names;
  if (value.dims == none) return names;
  for (const auto name : to.model.dim_names[value.dims]) names.push_back(to.texts(name));
  return names;
}

flatbuffers::Offset<format::Values> write_values(MetadataBuilder& to) {
  std::vector<std::uint32_t> names, types, tensors;
  std::vector<format::Role> roles;
  std::vector<format::Initial> initials;
  std::vector<double> numbers;
  for (std::size_t i = 0; i < to.order.named; ++i) {
    const auto& value = to.model.values[to.order.values.order()[i]];
    names.push_back(to.texts(value.name));
    roles.push_back(static_cast<format::Role>(value.role));
    types.push_back(to.types(value.type, dim_names(to, value)));
    tensors.push_back(value.tensor == none ? 0 : 1 + to.order.tensors.at(value.tensor));
    initials.push_back(static_cast<format::Initial>(value.init.kind));
    numbers.insert(numbers.end(), {value.init.a, value.init.b});
  }
  const auto names_at = to.required(names);
  const auto roles_at = to.column(roles);
  const auto types_at = to.column(types);
  const auto tensors_at = to.column(tensors);
  const auto initials_at = to.column(initials);
  const auto numbers_at = to.column(numbers);
  return format::CreateValues(to.buffer, names_at, roles_at, types_at, tensors_at, initials_at,
                              numbers_at);
}

void add_edges(const MetadataBuilder& to, const NodeRecord& node,
               std::vector<std::uint32_t>& edges) {
  for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i) {
    const auto value = to.model.edges[node.first_edge + i];
    edges.push_back(value == none ? none : to.order.values.at(value));
  }
}

flatbuffers::Offset<format::Nodes> write_nodes(MetadataBuilder& to) {
  std::vector<std::uint32_t> names, operators, inputs, states, outputs, attributes, devices, edges,
      types, origins;
  std::vector<format::Pass> passes;
  for (const auto& node : to.model.nodes) {
    names.push_back(to.texts(node.name));
    operators.push_back(to.order.operators.at(node.op));
    inputs.push_back(node.input_count);
    states.push_back(node.state_count);
    outputs.push_back(node.output_count);
    attributes.push_back(node.attribute_count);
    devices.push_back(to.texts(node.device));
    passes.push_back(static_cast<format::Pass>(node.pass));
    origins.push_back(node.origin == none ? 0 : 1 + node.origin);
    add_edges(to, node, edges);
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      types.push_back(to.types(to.model.values[node.first_output + i].type));
  }
  const auto names_at = to.required(names);
  const auto operators_at = to.column(operators);
  const auto inputs_at = to.column(inputs);
  const auto states_at = to.column(states);
  const auto outputs_at = to.column(outputs);
  const auto attributes_at = to.column(attributes);
  const auto devices_at = to.column(devices);
  const auto edges_at = to.required(edges);
  const auto types_at = to.required(types);
  const auto passes_at = to.column(passes);
  const auto origins_at = to.column(origins);
  return format::CreateNodes(to.buffer, names_at, operators_at, inputs_at, states_at, outputs_at,
                             attributes_at, devices_at, edges_at, types_at, passes_at, origins_at);
}

void add_attribute(MetadataBuilder& to, const AttributeRecord& attribute,
                   AttributeColumns& columns) {
  columns.names.push_back(to.texts(attribute.name));
  columns.kinds.push_back(static_cast<format::AttributeKind>(attribute.kind));
  const auto add_list = [&](const auto& from, auto& column) {
    columns.integers.push_back(attribute.count);
    const auto first = from.begin() + attribute.first;
    column.insert(column.end(), first, first + attribute.count);
  };
  if (attribute.kind == TENON_ATTR_FLOAT) {
    columns.reals.push_back(attribute.f);
  } else if (attribute.kind == TENON_ATTR_INTS) {
    add_list(to.model.ints, columns.integers);
  } else if (attribute.kind == TENON_ATTR_FLOATS) {
    add_list(to.model.floats, columns.reals);
  } else if (attribute.kind == TENON_ATTR_TENSOR) {
    append_table(to.model.tables[attribute.first], columns.integers, columns.reals);
  } else {
    const bool text = attribute.kind == TENON_ATTR_TEXT || attribute.kind == TENON_ATTR_TEXTS;
    columns.integers.push_back(text ? to.texts(static_cast<StringId>(attribute.i)) : attribute.i);
  }
}

AttributeColumns attributes_of_nodes(MetadataBuilder& to) {
  AttributeColumns columns;
  for (const auto& node : to.model.nodes)
    for (std::uint32_t i = 0; i < node.attribute_count; ++i)
      add_attribute(to, to.model.attributes[node.first_attribute + i], columns);
  return columns;
}

}  // namespace

flatbuffers::Offset<format::Attributes> write_attributes(MetadataBuilder& to,
                                                         const AttributeColumns& columns) {
  const auto names_at = to.required(columns.names);
  const auto kinds_at = to.required(columns.kinds);
  const auto integers_at = to.required(columns.integers);
  const auto reals_at = to.required(columns.reals);
  return format::CreateAttributes(to.buffer, names_at, kinds_at, integers_at, reals_at);
}

namespace {

struct CategoryColumns {
  std::vector<std::uint32_t> values, counts, names;
};

// In the order of the file's values.
CategoryColumns categories_of(MetadataBuilder& to) {
  CategoryColumns columns;
  std::uint32_t number = 0;
  for (const auto id : to.order.values.order()) {
    const auto& value = to.model.values[id];
    if (value.categories != none) {
      const auto& names = to.model.categories[value.categories];
      columns.values.push_back(number);
      columns.counts.push_back(static_cast<std::uint32_t>(names.size()));
      for (const auto name : names) columns.names.push_back(to.texts(name));
    }
    ++number;
  }
  return columns;
}

}  // namespace

flatbuffers::Offset<format::Graph> write_graph(MetadataBuilder& to) {
  const auto name = to.texts(std::string_view(to.model.name));
  const auto values_at = write_values(to);
  const auto nodes_at = write_nodes(to);
  const auto attributes_at = write_attributes(to, attributes_of_nodes(to));
  std::vector<std::uint32_t> names, values;
  for (const auto& [output, value] : to.model.outputs) {
    names.push_back(to.texts(output));
    values.push_back(to.order.values.at(value));
  }
  const auto names_at = to.required(names);
  const auto outputs_at = to.required(values);
  std::vector<std::uint32_t> updated, update_values;
  for (const auto& [variable, value] : to.model.updates) {
    updated.push_back(to.order.values.at(variable));
    update_values.push_back(to.order.values.at(value));
  }
  const auto updated_at = updated.empty() ? ColumnOffset<std::uint32_t>() : to.required(updated);
  const auto update_values_at =
      update_values.empty() ? ColumnOffset<std::uint32_t>() : to.required(update_values);
  const auto categories = categories_of(to);
  const auto list = [&](const std::vector<std::uint32_t>& column) {
    return categories.values.empty() ? ColumnOffset<std::uint32_t>() : to.required(column);
  };
  const auto categorical_at = list(categories.values);
  const auto counts_at = list(categories.counts);
  const auto category_names_at = list(categories.names);
  return format::CreateGraph(to.buffer, name, values_at, nodes_at, attributes_at, names_at,
                             outputs_at, none, 0, updated_at, update_values_at, categorical_at,
                             counts_at, category_names_at);
}

}  // namespace tenon
