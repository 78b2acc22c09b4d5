#include "file/tenon/file_order.hpp"

namespace tenon {

std::uint32_t Numbering::operator()(std::uint32_t id) {
  auto& number = numbers_[id];
  if (number == none) {
    number = static_cast<std::uint32_t>(order_.size());
    order_.push_back(id);
  }
  return number;
}

FileOrder file_order(const GraphModel& model) {
  FileOrder order{Numbering(model.values.size()),  0, Numbering(model.tensors.size()), Numbering(model.operators.size()),
                  Numbering(model.plugins.size()), 0};
  for (const auto value : model.inputs) order.values(value);
  for (const auto role : {Role::input, Role::variable, Role::constant, Role::state})
    for (ValueId id = 0; id < model.values.size(); ++id)
      if (model.values[id].role == role) order.values(id);
  order.named = order.values.order().size();
  for (const auto id : order.values.order())
    if (model.values[id].tensor != none) order.tensors(model.values[id].tensor);
  order.weights = order.tensors.order().size();
  if (model.training)
    for (const auto& slot : model.training->slots) order.tensors(slot.tensor);
  for (const auto& node : model.nodes) {
    for (std::uint32_t i = 0; i < node.output_count; ++i) order.values(node.first_output + i);
    order.operators(node.op);
  }
  for (const auto id : order.operators.order())
    if (model.operators[id].plugin != none) order.plugins(model.operators[id].plugin);
  return order;
}

}  // namespace tenon
