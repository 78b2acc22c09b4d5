// Exports a node by an ONNX form of its operator's manifest, the inverse of import/by_plugin.cpp.
#include <algorithm>
#include <cmath>

#include "onnx/export/node_export.hpp"

namespace tenon::onnx {
namespace {

/// Inputs that can replace a parameter: a form that names one also determines the position of the
/// other.
struct ReplacingInput {
  const char *input, *param;
};
constexpr ReplacingInput replacing_inputs[] = {
    {"begins", "begin"}, {"ends", "end"},         {"along", "axes"}, {"steps", "step"},
    {"fill", "value"},   {"along", "axis"},       {"axes", "axis"},  {"count", "k"},
    {"sizes", "shape"},  {"part_sizes", "sizes"}, {"size", "depth"}, {"sizes", "size"},
    {"scales", "scale"}, {"roi", "region"}};

/// Inputs, attributes and attribute values that are newer than the first opset in which the forms
/// apply.
struct NewerInput {
  std::string_view type;
  std::size_t position;
  std::int64_t since;
};
constexpr NewerInput newer_inputs[] = {{"Attention", 6, 24}, {"Pad", 3, 18}};

/// Number of inputs that ONNX requires but that Tenon has as parameters: they are written even if
/// the parameter has its default.
struct Required {
  std::string_view type;
  std::size_t inputs;
};
constexpr Required required[] = {{"CumProd", 2}, {"CumSum", 2}, {"Expand", 2},
                                 {"Slice", 3},   {"TopK", 2},   {"Unsqueeze", 2}};

struct NewerValue {
  std::string_view type, attribute, value;
  std::int64_t since;
};
constexpr NewerValue newer_values[] = {
    {"Pad", "mode", "wrap", 19},
    {"Resize", "coordinate_transformation_mode", "half_pixel_symmetric", 19},
    {"ScatterElements", "reduction", "max", 18},
    {"ScatterElements", "reduction", "min", 18},
    {"ScatterND", "reduction", "max", 18},
    {"ScatterND", "reduction", "min", 18}};

struct NewerAttribute {
  std::string_view type, attribute;
  std::int64_t since;
};
constexpr NewerAttribute newer_attributes[] = {{"Attention", "left_window_size", 25},
                                               {"Attention", "right_window_size", 25},
                                               {"AveragePool", "dilations", 19},
                                               {"DequantizeLinear", "block_size", 21},
                                               {"DequantizeLinear", "output_dtype", 23},
                                               {"GRU", "layout", 14},
                                               {"LSTM", "layout", 14},
                                               {"QuantizeLinear", "block_size", 21},
                                               {"QuantizeLinear", "output_dtype", 21},
                                               {"QuantizeLinear", "precision", 23},
                                               {"RNN", "layout", 14},
                                               {"Resize", "antialias", 18},
                                               {"Resize", "axes", 18},
                                               {"Resize", "keep_aspect_ratio_policy", 18},
                                               {"RoiAlign", "coordinate_transformation_mode", 16},
                                               {"ScatterElements", "reduction", 16},
                                               {"ScatterND", "reduction", 16},
                                               {"SpaceToDepth", "mode", 28}};

/// Index inputs for which ONNX allows only these integer types, while Tenon takes any.
struct Indices {
  std::string_view type;
  std::size_t position;
  Types types;
};
constexpr Indices indices[] = {{"Gather", 1, {i32, i64}},
                               {"GatherElements", 1, {i32, i64}},
                               {"GatherND", 1, {i64}},
                               {"ScatterElements", 1, {i32, i64}},
                               {"ScatterND", 1, {i64}}};

bool is_empty_list(const AttributeValue& value) {
  const auto* integers = std::get_if<std::vector<std::int64_t>>(&value.variant());
  const auto* numbers = std::get_if<std::vector<double>>(&value.variant());
  const auto* texts = std::get_if<std::vector<std::string>>(&value.variant());
  return (integers != nullptr && integers->empty()) || (numbers != nullptr && numbers->empty()) ||
         (texts != nullptr && texts->empty());
}

// Converts a list of one element to a number, for attributes that are scalars in ONNX.
AttributeValue one_of(const AttributeValue& value) {
  const auto* list = std::get_if<std::vector<std::int64_t>>(&value.variant());
  return list != nullptr && list->size() == 1 ? AttributeValue(list->front()) : value;
}

/// Applies one form to one node.
class FormExport {
 public:
  FormExport(NodeExport& node, const OnnxForm& form)
      : node_(node), info_(node.info()), form_(form) {}
  bool fits();
  void write(std::int64_t version);
  const Sources& sources() const { return sources_; }

 private:
  bool map_inputs();
  bool map_attributes();
  bool map_outputs();
  bool map_param(const std::string& param, std::size_t position,
                 const std::optional<AttributeValue>& absent);
  bool map_halves(const OnnxForm::Halves& halves);
  void cast_indices();
  bool slices_alike() const;
  bool is_recurrent() const {
    return form_.domain.empty() &&
           (form_.type == "LSTM" || form_.type == "GRU" || form_.type == "RNN");
  }
  bool is_known(std::string_view attribute) const {
    return std::none_of(std::begin(newer_attributes), std::end(newer_attributes),
                        [&](const NewerAttribute& one) {
                          return one.type == form_.type && one.attribute == attribute &&
                                 form_.domain.empty() && node_.opset() < one.since;
                        });
  }
  bool inputs_are_known() const {
    return std::none_of(
        std::begin(newer_inputs), std::end(newer_inputs), [&](const NewerInput& one) {
          return one.type == form_.type && form_.domain.empty() && node_.opset() < one.since &&
                 one.position < inputs_.size() && !inputs_[one.position].empty();
        });
  }
  bool values_are_known() const {
    return std::none_of(
        std::begin(newer_values), std::end(newer_values), [&](const NewerValue& one) {
          return one.type == form_.type && form_.domain.empty() && node_.opset() < one.since &&
                 std::any_of(attributes_.begin(), attributes_.end(),
                             [&](const written::Attribute& attribute) {
                               return attribute.name == one.attribute &&
                                      attribute.value == AttributeValue(std::string(one.value));
                             });
        });
  }
  bool is_absent(const ParamInfo& param, const AttributeValue& tenon_value,
                 const std::optional<AttributeValue>& absent) const;
  std::optional<Tensor> as_tensor(const ParamInfo& param, const AttributeValue& value) const;
  std::optional<DType> shared_dtype() const;
  const ParamInfo& declared(const std::string& param) const {
    return info_.params[static_cast<std::size_t>(info_.find_param(param))];
  }
  /// An attribute that the operator ignores in this case but that other programs reject.
  bool is_ignored(std::string_view attribute) const {
    if (form_.type == "Attention")
      return node_.rank() == 4 && (attribute == "q_num_heads" || attribute == "kv_num_heads");
    return form_.type == "Resize" && attribute == "keep_aspect_ratio_policy" &&
           (inputs_.size() < 4 || inputs_[3].empty());
  }
  bool is_required(std::size_t position) const {
    return form_.domain.empty() &&
           std::any_of(std::begin(required), std::end(required), [&](const Required& one) {
             return one.type == form_.type && position < one.inputs;
           });
  }
  void set_input(std::size_t position, std::string name, std::size_t source = none) {
    if (inputs_.size() <= position)
      inputs_.resize(position + 1), sources_.resize(position + 1, none);
    inputs_[position] = std::move(name);
    sources_[position] = source;
  }
  void set_constant(std::size_t position, Tensor elements) {
    set_input(position, " ");  // a placeholder; named once the form is known to fit
    constants_.emplace_back(position, std::move(elements));
  }

  NodeExport& node_;
  const OperatorInfo& info_;
  const OnnxForm& form_;
  written::Texts inputs_, outputs_;
  Sources sources_;  // of inputs_
  std::vector<std::pair<std::size_t, Tensor>> constants_;
  NodeExport::Attributes attributes_;
  std::vector<std::string> mapped_;  // parameters written so far
};

// Whether ONNX's default for the absent attribute or input equals this value.
bool FormExport::is_absent(const ParamInfo& param, const AttributeValue& tenon_value,
                           const std::optional<AttributeValue>& absent) const {
  const auto* real = std::get_if<double>(&tenon_value.variant());
  if (real != nullptr && *real == 0 && std::signbit(*real)) return false;  // -0 == 0
  if (!absent) return !param.required && tenon_value == param.default_value;
  const auto value = form_.value_of(param, *absent);
  return value && *value == tenon_value;
}

std::optional<DType> FormExport::shared_dtype() const {
  for (std::size_t i = 0; i < info_.inputs.size(); ++i)
    if (!info_.inputs[i].types && i < node_.node().types.size() && !node_.input(i).empty())
      return node_.dtype(i);
  return {};
}

// Constants that become inputs have the dtype of the other inputs.
std::optional<Tensor> FormExport::as_tensor(const ParamInfo& param,
                                            const AttributeValue& value) const {
  const bool one = form_.type == "TopK";  // whose scalar k is a list of one element in ONNX
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value.variant()))
    return Tensor::from(*list, {static_cast<std::int64_t>(list->size())});
  if (const auto* list = std::get_if<std::vector<double>>(&value.variant())) {
    if (!std::all_of(list->begin(), list->end(), written::has_float)) return {};
    return Tensor::from(std::vector<float>(list->begin(), list->end()),
                        {static_cast<std::int64_t>(list->size())});
  }
  if (const auto* number = std::get_if<std::int64_t>(&value.variant());
      number != nullptr && param.kind != ParamKind::boolean)
    return Tensor::from({*number}, one ? Shape{1} : Shape::scalar());
  const auto* real = std::get_if<double>(&value.variant());
  const auto dtype = shared_dtype();
  if (real == nullptr || !dtype) return {};
  return as_scalar(*real, *dtype);
}

bool FormExport::map_param(const std::string& param, std::size_t position,
                           const std::optional<AttributeValue>& absent) {
  mapped_.push_back(param);
  const auto& tenon_value = node_.parameter(param);
  if (!is_required(position) && is_absent(declared(param), tenon_value, absent)) return true;
  const auto onnx_value = form_.onnx_value_of(declared(param), tenon_value);
  const auto elements = onnx_value ? as_tensor(declared(param), *onnx_value) : std::nullopt;
  if (elements) set_constant(position, *elements);
  return elements.has_value();
}

bool FormExport::map_inputs() {
  const auto num_positions = form_.inputs.size();
  const auto count = node_.node().inputs.size() - info_.states.size();
  std::vector<bool> written(node_.node().inputs.size());
  const auto write = [&](std::size_t position, std::size_t input) {
    if (!node_.input(input).empty()) set_input(position, node_.input(input), input);
    written[input] = true;
  };
  for (std::size_t position = 0; position < num_positions; ++position) {
    const auto& name = form_.inputs[position];
    if (name.empty()) continue;
    if (const auto at = info_.find_input(name); at >= 0) {
      const auto first = static_cast<std::size_t>(at);
      write(position, first);
      for (auto i = first + 1; info_.inputs[first].variadic && i < count; ++i)
        write(position + i - first, i);
      continue;
    }
    for (std::size_t s = 0; s < info_.states.size(); ++s)
      if (info_.states[s].name == name) write(position, count + s);
  }
  // Pairs an input that replaces a parameter with the form's entry for that parameter, and a
  // parameter with the form's entry for that input.
  const auto input_for = [&](const std::string& param) -> std::optional<std::size_t> {
    for (const auto& pair : replacing_inputs)
      if (const auto at = info_.find_input(pair.input);
          at >= 0 && pair.param == param && !node_.input(static_cast<std::size_t>(at)).empty())
        return static_cast<std::size_t>(at);
    return {};
  };
  for (const auto& as : form_.inputs_as) {
    if (const auto at = input_for(as.param);
        at && !written[*at] && node_.parameter(as.param) == declared(as.param).default_value) {
      write(as.place, *at);
      mapped_.push_back(as.param);
    } else if (!map_param(as.param, as.place, as.absent)) {
      return false;
    }
  }
  for (const auto& pair : replacing_inputs) {
    const auto position = std::find(form_.inputs.begin(), form_.inputs.end(), pair.input);
    if (position == form_.inputs.end() || info_.find_param(pair.param) < 0 ||
        info_.find_input(pair.input) < 0)
      continue;
    if (std::find(mapped_.begin(), mapped_.end(), pair.param) != mapped_.end()) continue;
    if (!node_.input(static_cast<std::size_t>(info_.find_input(pair.input))).empty()) continue;
    const bool needed = !is_empty_list(node_.parameter(pair.param));
    if (needed && !map_param(pair.param, static_cast<std::size_t>(position - form_.inputs.begin()),
                             AttributeValue("never")))
      return false;
  }
  const auto widths = info_.find_input("widths");
  for (const auto& halves : form_.halves) {
    if (!halves.place) continue;
    if (widths >= 0 && !node_.input(static_cast<std::size_t>(widths)).empty()) {
      write(*halves.place, static_cast<std::size_t>(widths));
      mapped_.push_back(halves.first), mapped_.push_back(halves.second);
    } else if (!map_halves(halves)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < written.size(); ++i)
    if (!written[i] && !node_.input(i).empty()) return false;
  for (const auto& without : form_.without) {
    mapped_.push_back(without.param);
    const auto at = info_.find_input(without.input);
    const bool is_connected = at >= 0 && !node_.input(static_cast<std::size_t>(at)).empty();
    const auto& declared_value = declared(without.param).default_value;
    if (!(node_.parameter(without.param) == (is_connected ? declared_value : without.value)))
      return false;
  }
  return true;
}

bool FormExport::map_halves(const OnnxForm::Halves& halves) {
  mapped_.push_back(halves.first), mapped_.push_back(halves.second);
  const auto *first =
                 std::get_if<std::vector<std::int64_t>>(&node_.parameter(halves.first).variant()),
             *second =
                 std::get_if<std::vector<std::int64_t>>(&node_.parameter(halves.second).variant());
  if (first == nullptr || second == nullptr || first->size() != second->size()) return false;
  auto both = *first;
  both.insert(both.end(), second->begin(), second->end());
  if (halves.place)
    set_constant(*halves.place, Tensor::from(both, {static_cast<std::int64_t>(both.size())}));
  else if (!both.empty())
    attributes_.push_back({halves.name, both});
  return true;
}

// Tenon's slices follow Python; they differ from ONNX's only if a begin is before the first element
// and the step is negative.
bool FormExport::slices_alike() const {
  if (form_.type != "Slice" || !form_.domain.empty()) return false;
  const auto is_connected = [&](const char* input) {
    return !node_.input(static_cast<std::size_t>(info_.find_input(input))).empty();
  };
  const auto list = [&](const char* param) {
    return std::get_if<std::vector<std::int64_t>>(&node_.parameter(param).variant());
  };
  const auto *begins = list("begin"), *steps = list("step"), *axes = list("axes");
  if (is_connected("steps") || steps == nullptr) return false;
  const auto& x = node_.type(0);
  for (std::size_t i = 0; i < steps->size(); ++i) {
    if ((*steps)[i] > 0) continue;
    if (is_connected("begins") || is_connected("along") || begins == nullptr || axes == nullptr ||
        x.rank < 1)
      return false;
    const auto axis = axes->empty() ? static_cast<std::int64_t>(i) : ((*axes)[i] + x.rank) % x.rank;
    if ((*begins)[i] < -std::max<std::int64_t>(x.dims[axis], 1)) return false;
  }
  return true;
}

bool FormExport::map_attributes() {
  for (const auto& entry : form_.attributes) {
    if (std::find(mapped_.begin(), mapped_.end(), entry.param) != mapped_.end()) {
      // The replacing input was already written, or the form covers the parameter in another way.
      continue;
    }
    mapped_.push_back(entry.param);
    if (is_ignored(entry.name)) continue;
    const auto& param = declared(entry.param);
    const auto& tenon_value = node_.parameter(entry.param);
    auto onnx_value = form_.onnx_value_of(param, tenon_value);
    if (onnx_value && entry.name == "axis") onnx_value = one_of(*onnx_value);
    const auto* text = onnx_value ? std::get_if<std::string>(&onnx_value->variant()) : nullptr;
    if (!onnx_value || !is_known(entry.name) || is_empty_list(*onnx_value) ||
        (text != nullptr && text->empty())) {
      if (!is_absent(param, tenon_value, entry.absent)) return false;
      continue;
    }
    const bool list = std::holds_alternative<std::vector<std::int64_t>>(onnx_value->variant());
    if (list && entry.name == "axis") return false;
    // a clip of 0 means no clipping
    if ((is_recurrent() || form_.type == "Attention") &&
        is_absent(param, tenon_value, entry.absent))
      continue;
    attributes_.push_back({entry.name, *onnx_value});
  }
  if (is_recurrent()) {
    const auto& recurrent = node_.type(2);  // [directions, gates, hidden]
    if (recurrent.rank != 3 || recurrent.dims[2] < 1) return false;
    attributes_.push_back({"hidden_size", recurrent.dims[2]});
  }
  for (const auto& halves : form_.halves)
    if (!halves.place && !map_halves(halves)) return false;
  for (const auto& constant : form_.constants) {
    mapped_.push_back(constant.param);
    if (!(node_.parameter(constant.param) == constant.value) && !slices_alike()) return false;
  }
  for (const auto& [name, value] : node_.node().parameters) {
    if (std::find(mapped_.begin(), mapped_.end(), name) != mapped_.end()) continue;
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
  return map_inputs() && map_attributes() && map_outputs() && inputs_are_known() &&
         values_are_known();
}

void FormExport::cast_indices() {
  if (!form_.domain.empty()) return;
  const auto& names = node_.node().inputs;
  for (const auto& one : indices) {
    if (one.type != form_.type || one.position >= inputs_.size()) continue;
    const auto found = std::find(names.begin(), names.end(), inputs_[one.position]);
    if (found == names.end()) continue;
    const auto dtype = node_.dtype(static_cast<std::size_t>(found - names.begin()));
    if (!allows(one.types.mask, dtype))
      inputs_[one.position] = node_.cast(inputs_[one.position], i64);
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
