// Compares graphs by content, not by the layout of their arrays.
#pragma once
#include <cstring>
#include <string>

#include "graph/model.hpp"
#include "graph/parameters.hpp"

inline std::string bits_of(double value) {
  return std::to_string(std::bit_cast<std::uint64_t>(value));
}

inline std::string outline_of(const tenon::Tensor& tensor);

inline std::string bits_of(const tenon::AttributeValue& value) {
  if (const auto* tensor = std::get_if<tenon::Tensor>(&value.variant())) return outline_of(*tensor);
  if (const auto* real = std::get_if<double>(&value.variant())) return bits_of(*real);
  std::string text;
  if (const auto* list = std::get_if<std::vector<double>>(&value.variant())) {
    for (const double item : *list) text += bits_of(item) + ' ';
    return text;
  }
  return to_string(value);
}

inline std::string outline_of(const tenon::Tensor& tensor) {
  if (tensor.storage() == tenon::Storage::csr)
    return " csr " + to_string(tensor.shape()) + outline_of(tensor.stored_values()) +
           outline_of(tensor.columns()) + outline_of(tensor.row_starts());
  if (tensor.storage() == tenon::Storage::row_sparse)
    return " rows " + to_string(tensor.shape()) + outline_of(tensor.stored_values()) +
           outline_of(tensor.row_ids());
  std::string text = " data " + to_string(tensor.shape()) + name_of(tensor.dtype());
  const auto* bytes = static_cast<const unsigned char*>(tensor.data());
  for (std::int64_t i = 0; i < tensor.bytes(); ++i) text += ' ' + std::to_string(bytes[i]);
  return text;
}

inline std::string outline_of(const tenon::GraphModel& model, const tenon::ValueRecord& value) {
  std::string text = tenon::to_string(value.type) + " storage " +
                     std::to_string(value.type.storage) + " role " +
                     std::to_string(static_cast<int>(value.role)) + " init " +
                     std::to_string(static_cast<int>(value.init.kind)) + ' ' +
                     bits_of(value.init.a) + ' ' + bits_of(value.init.b);
  if (value.tensor == tenon::none) return text;
  return text + outline_of(model.tensors[value.tensor]);
}

inline std::string outline_of(const tenon::GraphModel& model, const tenon::TrainingRecord& record) {
  std::string text = "training by " + record.optimizer;
  for (const auto& [name, value] : record.parameters)
    text += ' ' + name + '=' + std::to_string(value.variant().index()) + bits_of(value);
  for (const auto number : {record.step, record.seed, record.epoch, record.data_position,
                            record.random_step, record.micro_batches})
    text += ' ' + std::to_string(number);
  for (const auto& slot : record.slots)
    text += '\n' + slot.name + " of " + value_label(model, slot.variable) +
            outline_of(model.tensors[slot.tensor]);
  return text + '\n';
}

/// The whole graph as text, doubles by their bits; named values ordered by role.
inline std::string outline_of(const tenon::GraphModel& model) {
  using namespace tenon;
  std::string text = model.name + '\n';
  for (const auto role : {Role::input, Role::variable, Role::constant, Role::state})
    for (const auto& value : model.values)
      if (value.role == role)
        text += std::string(model.strings[value.name]) + ": " + outline_of(model, value) + '\n';
  for (const auto& node : model.nodes) {
    const auto& op = model.operators[node.op];
    text += std::string(model.strings[node.name]) + " = " + op.name + ' ' +
            std::to_string(op.version) + " on '" + std::string(model.strings[node.device]) + "' (";
    for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i) {
      const auto value = model.edges[node.first_edge + i];
      text += (value == none ? "nothing" : value_label(model, value)) +
              (i + 1 == node.input_count ? "; " : ", ");
    }
    for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
      const auto& attribute = model.attributes[node.first_attribute + i];
      text += std::string(model.strings[attribute.name]) + '=' + std::to_string(attribute.kind) +
              ':' + bits_of(value_of(model, attribute)) + ' ';
    }
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      text += " -> " + to_string(model.values[node.first_output + i].type);
    text += ") pass " + std::to_string(static_cast<int>(node.pass)) + ' ' +
            (node.origin == none ? "" : std::string(model.strings[model.nodes[node.origin].name])) +
            '\n';
    if (op.plugin != none)
      text += "  " + model.plugins[op.plugin].name + ' ' +
              std::to_string(model.plugins[op.plugin].content_hash) + '\n';
    for (const auto byte : op.info->manifest) text += std::to_string(static_cast<int>(byte)) + ' ';
  }
  for (const auto& [name, value] : model.outputs)
    text += std::string(model.strings[name]) + " is " + value_label(model, value) + '\n';
  for (const auto& [variable, value] : model.updates)
    text += value_label(model, variable) + " becomes " + value_label(model, value) + '\n';
  for (const auto& [key, value] : model.meta)
    text += std::string(model.strings[key]) + "=" + std::string(model.strings[value]) + '\n';
  for (const auto& extension : model.extensions)
    text += extension.name + std::to_string(extension.content.size()) + '\n';
  if (model.training) text += outline_of(model, *model.training);
  return text;
}
