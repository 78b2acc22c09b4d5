// Exports a node by an ONNX form of its operator's manifest: applies a FormMapping in the direction
// from Tenon to ONNX.
#include <algorithm>
#include <cmath>

#include "onnx/export/node_export.hpp"
#include "onnx/form_mapping.hpp"

namespace tenon::onnx {
namespace {

// Whether it is a list or a text without elements.
bool is_empty(const AttributeValue& value) {
  return std::visit(
      [](const auto& content) {
        if constexpr (requires { content.begin() == content.end(); }) return content.empty();
        return false;
      },
      value.variant());
}

/// Applies one form to one node.
class FormExport {
 public:
  FormExport(NodeExport& node, const OnnxForm& form)
      : node_(node),
        info_(node.info()),
        form_(form),
        mapping_(info_, form),
        written_(node.node().inputs.size()) {}
  bool fits();
  void write(std::int64_t version);
  const Sources& sources() const { return sources_; }

 private:
  bool map_inputs();
  bool map_to_input(const ParamMapping& mapping);
  bool map_attributes();
  bool map_to_attribute(const ParamMapping& mapping);
  bool map_parameters();
  bool map_outputs();
  bool are_inputs_known() const;
  void cast_indices();
  bool slices_alike() const;
  bool is_recurrent() const {
    return form_.domain.empty() &&
           (form_.type == "LSTM" || form_.type == "GRU" || form_.type == "RNN");
  }
  const AttributeValue& value_of(const ParamMapping& mapping) const {
    return node_.parameter(mapping.param->name);
  }
  std::optional<AttributeValue> onnx_value(const ParamMapping& mapping) const {
    const auto& second = mapping.second != nullptr ? *mapping.second : *mapping.param;
    return mapping_.onnx_value(mapping, value_of(mapping), node_.parameter(second.name));
  }
  bool is_absent(const ParamMapping& mapping) const;
  std::optional<DType> shared_dtype() const;
  /// An attribute that the operator ignores in this case but that other programs reject.
  bool is_ignored(std::string_view attribute) const {
    if (form_.type == "Attention")
      return node_.rank() == 4 && (attribute == "q_num_heads" || attribute == "kv_num_heads");
    return form_.type == "Resize" && attribute == "keep_aspect_ratio_policy" &&
           (inputs_.size() < 4 || inputs_[3].empty());
  }
  bool is_connected(int input) const {
    return input >= 0 && !node_.input(static_cast<std::size_t>(input)).empty();
  }
  bool is_mapped(const std::string& param) const {
    return std::find(mapped_.begin(), mapped_.end(), param) != mapped_.end();
  }
  void set_mapped(const ParamMapping& mapping) {
    mapped_.push_back(mapping.param->name);
    if (mapping.second != nullptr) mapped_.push_back(mapping.second->name);
  }
  void write_input(std::size_t position, std::size_t input) {
    if (!node_.input(input).empty()) set_input(position, node_.input(input), input);
    written_[input] = true;
  }
  void set_input(std::size_t position, std::string name, std::size_t source = none) {
    if (inputs_.size() <= position)
      inputs_.resize(position + 1), sources_.resize(position + 1, none);
    inputs_[position] = std::move(name);
    sources_[position] = source;
  }

  NodeExport& node_;
  const OperatorInfo& info_;
  const OnnxForm& form_;
  FormMapping mapping_;
  std::vector<bool> written_;  // whether each of the node's inputs and states is in inputs_
  written::Texts inputs_, outputs_;
  Sources sources_;  // of inputs_
  std::vector<std::pair<std::size_t, Tensor>> constants_;
  NodeExport::Attributes attributes_;
  std::vector<std::string> mapped_;  // parameters written so far
};

// Whether ONNX's default for the absent attribute or input equals this value.
bool FormExport::is_absent(const ParamMapping& mapping) const {
  const auto& value = value_of(mapping);
  const auto* real = std::get_if<double>(&value.variant());
  if (real != nullptr && *real == 0 && std::signbit(*real)) return false;  // -0 == 0
  return mapping_.absent_value(mapping) == value;
}

std::optional<DType> FormExport::shared_dtype() const {
  for (std::size_t i = 0; i < info_.inputs.size(); ++i)
    if (!info_.inputs[i].types && i < node_.node().types.size() && !node_.input(i).empty())
      return node_.dtype(i);
  return {};
}

// Writes the parameter as a constant input, or the input that replaces it.
bool FormExport::map_to_input(const ParamMapping& mapping) {
  const auto position = *mapping.field.input;
  const auto replacing = static_cast<std::size_t>(mapping.replacing);
  const bool is_replaced = is_connected(mapping.replacing);
  if (!mapping_.input_at(position).empty()) {  // the form has both, at the same position
    if (is_replaced || is_mapped(mapping.param->name) || is_empty(value_of(mapping))) return true;
  } else if (is_replaced && !written_[replacing] &&
             (mapping.second != nullptr || value_of(mapping) == mapping.param->default_value)) {
    write_input(position, replacing);
    set_mapped(mapping);
    return true;
  }
  set_mapped(mapping);
  if (!mapping_.is_required(mapping) && is_absent(mapping)) return true;
  const auto value = onnx_value(mapping);
  if (!value || mapping.param->kind == ParamKind::boolean) return false;
  auto elements = elements_of(*value, shared_dtype());
  if (!elements) return false;
  set_input(position, " ");  // a placeholder; named once the form is known to fit
  constants_.emplace_back(position, std::move(*elements));
  return true;
}

bool FormExport::map_inputs() {
  const auto count = written_.size() - info_.states.size();
  for (std::size_t i = 0; i < written_.size(); ++i)
    if (const auto position = mapping_.position_of(i, count)) write_input(*position, i);
  for (const auto& mapping : mapping_.params())
    if (mapping.field.input && !map_to_input(mapping)) return false;
  for (std::size_t i = 0; i < written_.size(); ++i)
    if (!written_[i] && !node_.input(i).empty()) return false;
  return true;
}

// Tenon's slices follow Python; they differ from ONNX's only if a begin is before the first element
// and the step is negative.
bool FormExport::slices_alike() const {
  if (form_.type != "Slice" || !form_.domain.empty()) return false;
  const auto list = [&](const char* param) {
    return std::get_if<std::vector<std::int64_t>>(&node_.parameter(param).variant());
  };
  const auto *begins = list("begin"), *steps = list("step"), *axes = list("axes");
  if (is_connected(info_.find_input("steps")) || steps == nullptr) return false;
  const auto& x = node_.type(0);
  for (std::size_t i = 0; i < steps->size(); ++i) {
    if ((*steps)[i] > 0) continue;
    if (is_connected(info_.find_input("begins")) || is_connected(info_.find_input("along")) ||
        begins == nullptr || axes == nullptr || x.rank < 1)
      return false;
    const auto axis = axes->empty() ? static_cast<std::int64_t>(i) : ((*axes)[i] + x.rank) % x.rank;
    if ((*begins)[i] < -std::max<std::int64_t>(x.dims[axis], 1)) return false;
  }
  return true;
}

bool FormExport::map_to_attribute(const ParamMapping& mapping) {
  const auto name = mapping.field.attribute;
  if (is_mapped(mapping.param->name)) return true;  // by the input that replaces it
  set_mapped(mapping);
  if (is_ignored(name)) return true;
  const auto value = onnx_value(mapping);
  if (mapping.second != nullptr && (!value || is_empty(*value))) return value.has_value();
  if (!value || node_.opset() < mapping_.since(mapping.field) || is_empty(*value))
    return is_absent(mapping);
  if (mapping.rank == 0 && std::holds_alternative<std::vector<std::int64_t>>(value->variant()))
    return false;
  // a clip of 0 means no clipping; saturate and round_mode concern only few casts
  if ((is_recurrent() || form_.type == "Attention" || name == "saturate" || name == "round_mode") &&
      is_absent(mapping))
    return true;
  attributes_.push_back({std::string(name), *value});
  return node_.opset() >= mapping_.since(mapping.field, &*value);
}

bool FormExport::map_attributes() {
  for (const auto& mapping : mapping_.params())
    if (!mapping.field.input && !map_to_attribute(mapping)) return false;
  if (!is_recurrent()) return true;
  const auto& recurrent = node_.type(2);  // [directions, gates, hidden]
  if (recurrent.rank != 3 || recurrent.dims[2] < 1) return false;
  attributes_.push_back({"hidden_size", recurrent.dims[2]});
  return true;
}

// Checks the parameters that no input or attribute holds.
bool FormExport::map_parameters() {
  for (const auto& fixed : mapping_.fixed()) {
    mapped_.push_back(fixed.param->name);
    const bool has_default =
        fixed.unless != nullptr && is_connected(info_.find_input(*fixed.unless));
    const auto& needed = has_default ? fixed.param->default_value : *fixed.value;
    if (!(node_.parameter(fixed.param->name) == needed) && !slices_alike()) return false;
  }
  for (const auto& [name, value] : node_.node().parameters) {
    if (is_mapped(name)) continue;
    const auto at = info_.find_param(name);
    if (at < 0) return false;
    const bool counts = std::any_of(info_.outputs.begin(), info_.outputs.end(),
                                    [&, &name = name](const auto& o) { return o.count == name; });
    if (!counts && !(value == info_.params[static_cast<std::size_t>(at)].default_value))
      return false;
  }
  return true;
}

bool FormExport::map_outputs() {
  const auto& all = node_.node().outputs;
  if (info_.outputs.size() == 1) {
    outputs_ = all;
    return true;
  }
  outputs_.resize(form_.outputs.size());
  std::vector<bool> written(all.size());
  for (std::size_t position = 0; position < form_.outputs.size(); ++position) {
    const auto at = info_.find_output(form_.outputs[position]);
    if (at < 0 || static_cast<std::size_t>(at) >= all.size()) continue;
    outputs_[position] = all[static_cast<std::size_t>(at)];
    written[static_cast<std::size_t>(at)] = true;
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (node_.is_read(i) && !written[i]) return false;
  while (outputs_.size() > 1 && outputs_.back().empty()) outputs_.pop_back();
  return true;
}

bool FormExport::fits() {
  const auto dtype = shared_dtype();
  if (form_.types && dtype && !allows(*form_.types, *dtype)) return false;
  return map_inputs() && map_attributes() && map_parameters() && map_outputs() &&
         are_inputs_known();
}

bool FormExport::are_inputs_known() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (!inputs_[i].empty() && node_.opset() < mapping_.since({i})) return false;
  return true;
}

void FormExport::cast_indices() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto types = mapping_.index_types(i);
    if (!types || sources_[i] == none) continue;
    if (!allows(types->mask, node_.dtype(sources_[i]))) inputs_[i] = node_.cast(inputs_[i], i64);
  }
}

void FormExport::write(std::int64_t version) {
  for (const auto& [position, elements] : constants_) inputs_[position] = node_.constant(elements);
  cast_indices();
  node_.add_node({.type = form_.type,
                  .inputs = inputs_,
                  .outputs = outputs_,
                  .attributes = attributes_,
                  .domain = form_.domain,
                  .name = node_.node().name},
                 version);
}

}  // namespace

std::optional<Sources> write_by_form(NodeExport& node, const OnnxForm& form, std::int64_t version) {
  FormExport made(node, form);
  if (!made.fits()) return {};
  made.write(version);
  return made.sources();
}

}  // namespace tenon::onnx
