// Imports nodes by a plugin's operator: by its manifest's forms (`op.onnx`), by the user's --map,
// or by its name.
#include <fmt/format.h>

#include <algorithm>

#include "onnx/form_mapping.hpp"
#include "onnx/import/missing.hpp"
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

/// Applies one form to one node: either it becomes a call, or there is a reason why the form does
/// not fit.
class FormMatch {
 public:
  FormMatch(NodeImport& node, const OperatorInfo& info, const OnnxForm& form)
      : node_(node), info_(info), form_(form), mapping_(info, form) {}

  /// Empty if the form fits.
  std::string mismatch();
  void apply();

 private:
  std::vector<Operand> in_order() const;
  bool is_connected(const std::string& input) const {
    return std::any_of(inputs_.begin(), inputs_.end(),
                       [&](const auto& found) { return found.first == input; });
  }
  std::string map_inputs();
  std::string map_input(std::size_t i);
  std::string map_attribute(const OnnxField& field, const AttributeValue& value);
  std::string map_attributes();
  std::string map_absent();
  std::string map_outputs() const;

  NodeImport& node_;
  const OperatorInfo& info_;
  const OnnxForm& form_;
  FormMapping mapping_;
  Importer::Named inputs_;
  std::vector<std::pair<std::string, Tensor>> states_;
  FormMapping::Params params_;
  DType shared_ = unknown_dtype;  // of the inputs without declared dtypes
};

std::string FormMatch::map_input(std::size_t i) {
  const OnnxField field{i};
  const auto name = mapping_.input_at(i);
  const auto* mapping = mapping_.find(field);
  if (name.empty() && mapping == nullptr)
    return fmt::format("{} is not supported by {}", field.text(), info_.full_name());
  auto operand = node_.input(i);
  if (name.empty()) {
    if (operand.known()) return mapping_.read(*mapping, value_of(operand.elements), params_);
    node_.note_unknown();
    if (mapping->second != nullptr)
      return field.text() + " must be known when the model is imported";
    return fmt::format(
        "{} must be known when the model is imported, because it becomes parameter '{}'",
        field.text(), mapping->param->name);
  }
  const auto at = info_.find_input(name);
  if (at < 0) {
    if (!operand.known()) return field.text() + " must be known when the model is imported";
    states_.emplace_back(name, operand.elements);
    return {};
  }
  const auto& declared = info_.inputs[static_cast<std::size_t>(at)];
  const auto dtype = node_.dtype(operand);
  if (!allows(declared.types.value_or(form_.types.value_or(info_.types)), dtype))
    return fmt::format("{} is {}, which {} does not support", field.text(), name_of(dtype),
                       info_.full_name());
  if (!declared.types && shared_ != unknown_dtype && shared_ != dtype)
    return fmt::format("{} is {}, but {} needs the other inputs' dtype, {}", field.text(),
                       name_of(dtype), info_.full_name(), name_of(shared_));
  if (!declared.types) shared_ = dtype;
  inputs_.emplace_back(name, std::move(operand));
  return {};
}

std::string FormMatch::map_inputs() {
  for (std::size_t i = 0; i < node_.inputs(); ++i)
    if (node_.has(i))
      if (auto reason = map_input(i); !reason.empty()) return reason;
  for (const auto& input : info_.inputs)
    if (!input.optional && !input.variadic && !input.weight.value_or(false) &&
        !is_connected(input.name))
      return fmt::format("input '{}' of {} is missing", input.name, info_.full_name());
  return {};
}

std::string FormMatch::map_attribute(const OnnxField& field, const AttributeValue& value) {
  const auto named = [&](const auto& entry) { return entry.name == field.attribute; };
  if (const auto only = std::find_if(form_.only.begin(), form_.only.end(), named);
      only != form_.only.end()) {
    if (std::find(only->values.begin(), only->values.end(), value) != only->values.end()) return {};
    return fmt::format("{} has a value that {} does not support", field.text(), info_.full_name());
  }
  if (const auto* mapping = mapping_.find(field)) return mapping_.read(*mapping, value, params_);
  return fmt::format("{} is not supported by {}", field.text(), info_.full_name());
}

std::string FormMatch::map_attributes() {
  for (const auto& attribute : node_.node().attributes) {
    const OnnxField field{{}, attribute.name};
    const auto* found = node_.attribute(attribute.name);
    if (found == nullptr) continue;
    const auto value = node_.value_of(*found);
    if (std::find(form_.ignored.begin(), form_.ignored.end(), attribute.name) !=
        form_.ignored.end())
      continue;
    if (!value) return field.text() + " has a type that parameters do not support";
    if (auto reason = map_attribute(field, *value); !reason.empty()) return reason;
  }
  return {};
}

// Sets the parameters that no field of the node holds, except for those with their defaults.
std::string FormMatch::map_absent() {
  for (const auto& mapping : mapping_.params())
    if (mapping.absent != nullptr && !params_.contains(mapping.param->name))
      if (auto reason = mapping_.read(mapping, *mapping.absent, params_); !reason.empty())
        return reason;
  for (const auto& fixed : mapping_.fixed())
    if (fixed.unless == nullptr || !is_connected(*fixed.unless))
      params_.insert_or_assign(fixed.param->name, *fixed.value);
  for (const auto& output : info_.outputs)
    if (!output.count.empty())
      params_.emplace(output.count, static_cast<std::int64_t>(node_.node().outputs.size()));
  return {};
}

std::string FormMatch::map_outputs() const {
  for (std::size_t i = 0; i < node_.node().outputs.size(); ++i)
    if (node_.is_read(i) && !mapping_.has_output(i))
      return fmt::format("its output {} is not supported by {}", i, info_.full_name());
  return {};
}

std::string FormMatch::mismatch() {
  if (auto reason = map_inputs(); !reason.empty()) return reason;
  if (auto reason = map_attributes(); !reason.empty()) return reason;
  if (auto reason = map_absent(); !reason.empty()) return reason;
  return map_outputs();
}

// The operands of a variadic input have no names of their own.
std::vector<Operand> FormMatch::in_order() const {
  const auto fixed = info_.inputs.size() - 1;
  std::vector<Operand> ordered(fixed);
  for (const auto& [name, operand] : inputs_)
    if (const auto at = info_.find_input(name); at >= 0 && static_cast<std::size_t>(at) < fixed)
      ordered[static_cast<std::size_t>(at)] = operand;
    else
      ordered.push_back(operand);
  return ordered;
}

void FormMatch::apply() {
  Attributes attributes;
  for (const auto& [name, value] : params_) attributes.set(name, value);
  auto& importer = node_.importer();
  std::string name(node_.name());
  if (!states_.empty()) {
    name = importer.free_name(name.empty() ? std::string_view(info_.name) : node_.name());
    for (const auto& [state, elements] : states_) importer.state(name, state, elements);
  }
  const auto made = info_.variadic()
                        ? importer.call(info_.full_name(), in_order(), attributes, name)
                        : importer.call(info_.full_name(), inputs_, attributes, name);
  if (info_.outputs.size() == 1) {  // a counted output has as many tensors as the node has outputs
    for (std::size_t i = 0; i < made.size(); ++i) node_.output(i, made[i]);
    return;
  }
  for (std::size_t i = 0; i < form_.outputs.size(); ++i) {
    std::size_t at = 0;
    for (const auto& output : info_.outputs) {
      if (output.name == form_.outputs[i] && at < made.size()) node_.output(i, made[at]);
      at += output.hidden ? 0 : 1;
    }
  }
}

}  // namespace

bool Importer::by_plugin(NodeImport& node, std::optional<Failure>& refusal) {
  const auto& at = node.node();
  const auto& claims = kind_of(at, node.version()).claims;
  std::string first;
  std::optional<FormMatch> chosen;
  const CatalogOperator* by = nullptr;
  for (const auto& claim : claims) {
    FormMatch use(node, claim.op->info, *claim.form);
    auto reason = use.mismatch();
    if (!reason.empty()) {
      if (first.empty()) first = reason;
      continue;
    }
    if (chosen)
      node.refuse(
          fmt::format("both {} and {} can compute it", by->full_name(), claim.op->full_name()),
          "name the operator that computes such nodes");
    chosen.emplace(std::move(use));
    by = claim.op;
  }
  // A composition may support a node that the operator rejects.
  if (chosen) try {
      chosen->apply();
    } catch (const Failure& failure) {
      if (find_composition(at.domain, at.type, node.version()) == nullptr) throw;
      refusal = failure;
      return false;
    }
  if (!chosen && !first.empty() &&
      find_composition(at.domain, at.type, node.version()) == nullptr &&
      model_.function(at.domain, at.type, at.overload) == nullptr)
    node.refuse(first);
  return chosen.has_value();
}

// Maps inputs by position and attributes by parameter name.
void Importer::import_as(NodeImport& node, const std::string& op) {
  const auto* found = catalog_.find(op);
  if (found == nullptr)
    node.refuse(fmt::format("there is no operator '{}'{}", op, catalog_.not_searched_text()),
                did_you_mean(catalog_.near(op), catalog_.next_step(op)));
  import_as(node, found->info);
}

void Importer::import_as(NodeImport& node, const OperatorInfo& info) {
  FormMatch use(node, info, own_form(node, info));
  if (const auto reason = use.mismatch(); !reason.empty()) node.refuse(reason);
  use.apply();
}

// One form is built per number of inputs and set of attributes, and shared by all such nodes.
const OnnxForm& Importer::own_form(NodeImport& node, const OperatorInfo& info) {
  const auto attributes = node.node().attributes;
  auto& forms = own_forms_[&info];
  for (const auto& form : forms)
    if (form.inputs.size() == node.inputs() &&
        std::equal(form.attributes.begin(), form.attributes.end(), attributes.begin(),
                   attributes.end(), [](const auto& mapped, const proto::Attribute& attribute) {
                     return mapped.name == attribute.name;
                   }))
      return form;
  const auto states = info.variadic() ? 0 : info.states.size();
  if (node.inputs() > info.inputs.size() + states && !info.variadic())
    node.refuse(fmt::format("it has {} inputs, but {} takes {}", node.inputs(), info.full_name(),
                            info.inputs.size()));
  OnnxForm form;
  for (std::size_t i = 0; i < node.inputs(); ++i)
    form.inputs.push_back(i < info.inputs.size() ? info.inputs[i].name
                          : states > 0           ? info.states[i - info.inputs.size()].name
                                                 : info.inputs.back().name);
  for (const auto& output : info.outputs)
    if (!output.hidden) form.outputs.push_back(output.name);
  for (const auto& attribute : attributes) {
    if (info.find_param(attribute.name) < 0)
      node.refuse(fmt::format("its attribute '{}' is not a parameter of {}", attribute.name,
                              info.full_name()));
    form.attributes.push_back({std::string(attribute.name), std::string(attribute.name), {}});
  }
  // bounded, because a file may need a form per node, and each node searches the list
  if (forms.size() == 64) forms.pop_back();
  return forms.emplace_back(std::move(form));
}

// A node of a custom domain may belong to the operator of the same name, since the plugin's author
// probably defined both.
bool Importer::by_name(NodeImport& node) {
  auto& kind = kind_of(node.node(), node.version());
  const auto* found = kind.same_name;
  if (found == nullptr || !name_mismatch(found->info, node.node()).empty()) return false;
  import_as(node, found->info);
  if (std::exchange(kind.noted, true)) return true;
  note(fmt::format("{}::{} is computed by {}, which has the same name", node.node().domain,
                   node.node().type, found->full_name()));
  return true;
}

}  // namespace tenon::onnx
