#include "file/tenon/numbering.hpp"

#include <cstring>

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
  FileOrder order{Numbering(model.values.size()),  0,
                  Numbering(model.tensors.size()), Numbering(model.operators.size()),
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

FileTexts::FileTexts(const Strings& strings)
    : strings_(strings), seen_(strings.size(), unnumbered) {
  numbers_.reserve(strings.size());
  (*this)(std::string_view());
}

std::uint32_t FileTexts::operator()(StringId id) {
  if (seen_[id] == unnumbered) seen_[id] = (*this)(strings_[id]);
  return seen_[id];
}

std::uint32_t FileTexts::operator()(std::string_view text) {
  const auto [found, added] = numbers_.try_emplace(text, static_cast<std::uint32_t>(order_.size()));
  if (added) order_.push_back(text);
  return found->second;
}

std::uint32_t FileTypes::operator()(const tenon_type& type,
                                    const std::vector<std::uint32_t>& names) {
  if (names.empty() && !order_.empty() && std::memcmp(&order_[last_], &type, sizeof type) == 0 &&
      !names_.contains(last_))
    return last_;
  std::string key(reinterpret_cast<const char*>(&type), sizeof type);
  if (!names.empty())
    key.append(reinterpret_cast<const char*>(names.data()), names.size() * sizeof names[0]);
  const auto [found, added] =
      numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(order_.size()));
  if (added && !names.empty()) names_.emplace(order_.size(), names);
  if (added) order_.push_back(type);
  return last_ = found->second;
}

const std::vector<std::uint32_t>& FileTypes::names_of(std::size_t number) const {
  static const std::vector<std::uint32_t> no_names;
  const auto found = names_.find(number);
  return found == names_.end() ? no_names : found->second;
}

}  // namespace tenon
