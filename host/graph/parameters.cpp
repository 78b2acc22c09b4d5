#include "graph/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tenon/host/catalog.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>

#include "graph/strings.hpp"
#include "graph/table_parameter.hpp"
#include "io/counted.hpp"
#include "io/utf8.hpp"
#include "plugin/operator_history.hpp"

namespace tenon {
namespace {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(FailureKind::usage, fmt::format(text, std::forward<Args>(args)...));
}

[[noreturn]] void refuse_kind(const ParamInfo& param, const AttributeValue& value) {
  refuse("parameter '{}' is {} but must be {}", param.name, message_text(value),
         param.kind == ParamKind::choice   ? fmt::format("one of {}", listed(param.choices))
         : param.kind == ParamKind::tensor ? table_text(param)
                                           : std::string(name_of(param.kind)));
}

bool as_integer(const AttributeValue& value, std::int64_t& out) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.variant())) return out = *whole, true;
  const auto* real = std::get_if<double>(&value.variant());
  // 2^63 is the first double that does not fit; the comparison is false for NaN.
  if (real == nullptr || !(*real >= -0x1p63 && *real < 0x1p63) || *real != std::trunc(*real))
    return false;
  return out = static_cast<std::int64_t>(*real), true;
}

bool as_real(const AttributeValue& value, double& out) {
  if (const auto* real = std::get_if<double>(&value.variant())) return out = *real, true;
  if (const auto* whole = std::get_if<std::int64_t>(&value.variant()))
    return out = static_cast<double>(*whole), true;
  // graph.json can write these values only as strings.
  const auto* text = std::get_if<std::string>(&value.variant());
  if (text == nullptr) return false;
  if (*text == "inf" || *text == "-inf")
    return out = (*text)[0] == '-' ? -HUGE_VAL : HUGE_VAL, true;
  return *text == "nan" && (out = NAN, true);
}

void put_ints(GraphModel& model, AttributeRecord& record, const ParamInfo& param,
              const AttributeValue& value) {
  record.first = static_cast<std::uint32_t>(model.ints.size());
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&value.variant())) {
    model.ints.insert(model.ints.end(), whole->begin(), whole->end());
  } else if (const auto* real = std::get_if<std::vector<double>>(&value.variant())) {
    for (std::size_t i = 0; i < real->size(); ++i) {
      std::int64_t integer = 0;
      if (!as_integer((*real)[i], integer))
        refuse("parameter '{}' is {} but must be {}: element {} is {}", param.name,
               message_text(value), name_of(param.kind), i, (*real)[i]);
      model.ints.push_back(integer);
    }
  } else {
    refuse_kind(param, value);
  }
  record.count = static_cast<std::uint32_t>(model.ints.size()) - record.first;
}

void put_floats(GraphModel& model, AttributeRecord& record, const ParamInfo& param,
                const AttributeValue& value) {
  record.first = static_cast<std::uint32_t>(model.floats.size());
  if (const auto* real = std::get_if<std::vector<double>>(&value.variant())) {
    model.floats.insert(model.floats.end(), real->begin(), real->end());
  } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&value.variant())) {
    for (const auto item : *whole) model.floats.push_back(static_cast<double>(item));
  } else {
    refuse_kind(param, value);
  }
  record.count = static_cast<std::uint32_t>(model.floats.size()) - record.first;
}

void put_texts(GraphModel& model, AttributeRecord& record, const ParamInfo& param,
               const AttributeValue& value) {
  static const std::vector<std::string> no_texts;
  const auto* whole = std::get_if<std::vector<std::int64_t>>(&value.variant());
  const auto* texts = whole != nullptr && whole->empty()
                          ? &no_texts
                          : std::get_if<std::vector<std::string>>(&value.variant());
  if (texts == nullptr) refuse_kind(param, value);
  for (std::size_t i = 0; i < texts->size(); ++i) {
    const auto& text = (*texts)[i];
    if (!is_utf8(text))
      refuse("element {} of parameter '{}' is '{}', which is not UTF-8", i, param.name,
             printable(text));
    if (text.find('\0') != std::string::npos)
      refuse("element {} of parameter '{}' contains a zero byte, which would end the text early", i,
             param.name);
  }
  record.i = model.strings.intern(joined_texts(*texts));
}

void put_table(GraphModel& model, AttributeRecord& record, const ParamInfo& param,
               const AttributeValue& value) {
  auto table = table_of(param, value);
  record.first = static_cast<std::uint32_t>(model.tables.size());
  model.tables.push_back(std::move(table));
}

AttributeRecord make_record(GraphModel& model, const ParamInfo& param,
                            const AttributeValue& value) {
  AttributeRecord record;
  record.name = model.strings.intern(param.name);
  record.kind = attribute_kind(param.kind);
  switch (record.kind) {
    case TENON_ATTR_BOOL: {
      const auto* flag = std::get_if<bool>(&value.variant());
      if (flag == nullptr) refuse_kind(param, value);
      record.i = *flag ? 1 : 0;
      break;
    }
    case TENON_ATTR_INT:
      if (!as_integer(value, record.i)) refuse_kind(param, value);
      break;
    case TENON_ATTR_FLOAT:
      if (!as_real(value, record.f)) refuse_kind(param, value);
      break;
    case TENON_ATTR_TEXT: {
      const auto* text = std::get_if<std::string>(&value.variant());
      if (text == nullptr) refuse_kind(param, value);
      if (!is_utf8(*text))
        refuse("parameter '{}' is '{}', which is not UTF-8", param.name, printable(*text));
      record.i = model.strings.intern(*text);
      break;
    }
    case TENON_ATTR_INTS:
      put_ints(model, record, param, value);
      break;
    case TENON_ATTR_TEXTS:
      put_texts(model, record, param, value);
      break;
    case TENON_ATTR_TENSOR:
      put_table(model, record, param, value);
      break;
    default:
      put_floats(model, record, param, value);
  }
  return record;
}

// `element`: index within a list; -1 if it is not a list.
void check_number(const ParamInfo& param, double number, const std::string& shown,
                  std::int64_t element = -1) {
  const auto need = [&](bool is_met, const char* relation, double bound) {
    if (!is_met)
      refuse("{}parameter '{}' is {} but must be {} {}",
             element < 0 ? "" : fmt::format("element {} of ", element), param.name, shown, relation,
             bound);
  };
  if (param.min) need(number >= *param.min, "at least", *param.min);
  if (param.max) need(number <= *param.max, "at most", *param.max);
  if (param.above) need(number > *param.above, "above", *param.above);
  if (param.below) need(number < *param.below, "below", *param.below);
}

void check_scalar(const GraphModel& model, const ParamInfo& param, const AttributeRecord& record) {
  if (param.kind == ParamKind::int32 && record.i != static_cast<std::int32_t>(record.i))
    refuse("parameter '{}' is {} but must fit 32 bits", param.name, record.i);
  if (param.kind == ParamKind::float32 && std::isfinite(record.f) &&
      std::abs(record.f) > std::numeric_limits<float>::max())
    refuse("parameter '{}' is {} but must fit a 32-bit float", param.name, record.f);
  if (param.min || param.max || param.above || param.below) {
    const bool integer = record.kind == TENON_ATTR_INT;
    check_number(param, integer ? static_cast<double>(record.i) : record.f,
                 to_string(value_of(model, record)));
  }
}

void check_elements(const ParamInfo& param, const Tensor& table) {
  check_table(param, table);
  if (!param.min && !param.max && !param.above && !param.below) return;
  visit<table_types>(table.dtype(), [&]<class T>() {
    std::int64_t i = 0;
    for (const T item : table.values<T>())
      check_number(param, static_cast<double>(item), fmt::to_string(item), i++);
  });
}

void check_choices(const ParamInfo& param, const std::vector<std::string>& texts) {
  if (param.choices.empty()) return;
  for (std::size_t i = 0; i < texts.size(); ++i)
    if (std::find(param.choices.begin(), param.choices.end(), texts[i]) == param.choices.end())
      refuse("element {} of parameter '{}' is \"{}\" but must be one of {}", i, param.name,
             printable(texts[i]), listed(param.choices));
}

void check_record(const GraphModel& model, const ParamInfo& param, const AttributeRecord& record) {
  if (record.kind != attribute_kind(param.kind)) refuse_kind(param, value_of(model, record));
  if (param.kind == ParamKind::choice) {
    const auto chosen = model.strings[static_cast<StringId>(record.i)];
    if (std::find(param.choices.begin(), param.choices.end(), chosen) == param.choices.end())
      refuse_kind(param, value_of(model, record));
  } else if (record.kind == TENON_ATTR_INTS) {
    for (std::uint32_t i = 0; i < record.count; ++i) {
      const auto item = model.ints[record.first + i];
      check_number(param, static_cast<double>(item), std::to_string(item), i);
    }
  } else if (record.kind == TENON_ATTR_FLOATS) {
    for (std::uint32_t i = 0; i < record.count; ++i)
      check_number(param, model.floats[record.first + i],
                   fmt::to_string(model.floats[record.first + i]), i);
  } else if (record.kind == TENON_ATTR_TEXTS) {
    check_choices(param, split_texts(model.strings[static_cast<StringId>(record.i)]));
  } else if (record.kind == TENON_ATTR_TENSOR) {
    check_elements(param, model.tables[record.first]);
  } else if (record.kind == TENON_ATTR_INT || record.kind == TENON_ATTR_FLOAT) {
    check_scalar(model, param, record);
  }
}

[[noreturn]] void refuse_unknown(const OperatorInfo& info, const std::string& name) {
  std::vector<std::string> known;
  for (const auto& param : info.params) known.push_back(param.name);
  const auto all = known.empty() ? std::string("it has no parameters")
                                 : fmt::format("its parameters are {}", listed(known));
  throw Failure(FailureKind::usage, fmt::format("unknown parameter '{}'", name),
                did_you_mean(similar_names(name, known), all));
}

// The implicit parameter of OperatorInfo::derivative, which is not in `params`; nullopt for any
// other name.
std::optional<ParamInfo> derivative_parameter(const OperatorInfo& info, std::string_view name) {
  if (!info.derivative || name != "derivative") return {};
  ParamInfo param;
  param.name = name;
  param.kind = ParamKind::int32;
  param.min = 0, param.max = static_cast<double>(info.inputs.size()) - 1;
  return param;
}

const AttributeValue* find_attribute(const Attributes& attributes, const std::string& name) {
  const AttributeValue* found = nullptr;
  for (const auto& [key, value] : attributes) {
    if (key != name) continue;
    if (found != nullptr) refuse("parameter '{}' is given twice", name);
    found = &value;
  }
  return found;
}

}  // namespace

std::uint32_t attribute_kind(ParamKind kind) {
  switch (kind) {
    case ParamKind::boolean:
      return TENON_ATTR_BOOL;
    case ParamKind::int32:
    case ParamKind::int64:
      return TENON_ATTR_INT;
    case ParamKind::float32:
    case ParamKind::float64:
      return TENON_ATTR_FLOAT;
    case ParamKind::text:
    case ParamKind::choice:
      return TENON_ATTR_TEXT;
    case ParamKind::ints:
      return TENON_ATTR_INTS;
    case ParamKind::texts:
      return TENON_ATTR_TEXTS;
    case ParamKind::tensor:
      return TENON_ATTR_TENSOR;
    default:
      return TENON_ATTR_FLOATS;
  }
}

std::string_view name_of(ParamKind kind) {
  static constexpr std::string_view names[] = {
      "true or false", "an integer",         "an integer",        "a number", "a number",
      "text",          "a list of integers", "a list of numbers", "a choice", "a list of texts",
      "a tensor"};
  return names[static_cast<std::size_t>(kind)];
}

void add_parameters(GraphModel& model, NodeRecord& node, const OperatorInfo& info,
                    const Attributes& user_attributes) {
  const auto is_unknown = [&](const auto& entry) {
    return info.find_param(entry.first) < 0 && !derivative_parameter(info, entry.first);
  };
  const bool has_unknown = std::any_of(user_attributes.begin(), user_attributes.end(), is_unknown);
  const auto renamed = has_unknown ? with_current_names(user_attributes, info) : Attributes();
  const auto& attributes = has_unknown ? renamed : user_attributes;
  if (const auto unknown = std::find_if(attributes.begin(), attributes.end(), is_unknown);
      unknown != attributes.end())
    refuse_unknown(info, unknown->first);
  node.first_attribute = static_cast<std::uint32_t>(model.attributes.size());
  node.attribute_count = static_cast<std::uint32_t>(info.params.size());
  for (const auto& param : info.params) {
    const auto* value = find_attribute(attributes, param.name);
    if (value == nullptr && param.required)
      refuse("parameter '{}' is required: {}", param.name, param.doc);
    const auto record = make_record(model, param, value != nullptr ? *value : param.default_value);
    if (value != nullptr) check_record(model, param, record);
    model.attributes.push_back(record);
  }
  const auto derivative = derivative_parameter(info, "derivative");
  const auto* by = derivative ? find_attribute(attributes, derivative->name) : nullptr;
  if (by == nullptr) return;
  const auto record = make_record(model, *derivative, *by);
  check_record(model, *derivative, record);
  model.attributes.push_back(record);
  ++node.attribute_count;
}

void check_parameters(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info) {
  std::uint64_t seen = 0;
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    const auto name = model.strings[record.name];
    // Files list the parameters in declaration order, so the search is rarely needed.
    const int found = i < info.params.size() && info.params[i].name == name ? static_cast<int>(i)
                                                                            : info.find_param(name);
    if (const auto derivative = derivative_parameter(info, name)) {
      check_record(model, *derivative, record);
      continue;
    }
    if (found < 0) refuse_unknown(info, std::string(name));
    check_record(model, info.params[static_cast<std::size_t>(found)], record);
    if (found < 64) seen |= std::uint64_t{1} << found;
  }
  for (std::size_t i = 0; i < info.params.size() && i < 64; ++i)
    if (info.params[i].required && (seen >> i & 1U) == 0)
      refuse("parameter '{}' is required: {}", info.params[i].name, info.params[i].doc);
}

void fill_attributes(const GraphModel& model, const NodeRecord& node,
                     std::vector<tenon_attribute>& out) {
  out.resize(node.attribute_count);
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    tenon_attribute& attribute = out[i];
    attribute = {};
    attribute.name = model.strings[record.name].data();
    attribute.kind = record.kind;
    attribute.count = record.count;
    attribute.i = record.i;
    attribute.f = record.f;
    if (record.kind == TENON_ATTR_TEXT || record.kind == TENON_ATTR_TEXTS) {
      const auto text = model.strings[static_cast<StringId>(record.i)];
      attribute.text = text.data();
      attribute.count = text.size();
    } else if (record.kind == TENON_ATTR_INTS) {
      attribute.ints = model.ints.data() + record.first;
    } else if (record.kind == TENON_ATTR_FLOATS) {
      attribute.floats = model.floats.data() + record.first;
    } else if (record.kind == TENON_ATTR_TENSOR) {
      attribute.tensor = &model.tables[record.first].abi();
    }
  }
}

Attributes all_parameters(const GraphModel& model, const NodeRecord& node) {
  Attributes attributes;
  for (auto i = node.first_attribute; i < node.first_attribute + node.attribute_count; ++i)
    attributes.set(std::string(model.strings[model.attributes[i].name]),
                   value_of(model, model.attributes[i]));
  return attributes;
}

AttributeValue value_of(const GraphModel& model, const AttributeRecord& record) {
  switch (record.kind) {
    case TENON_ATTR_BOOL:
      return record.i != 0;
    case TENON_ATTR_INT:
      return record.i;
    case TENON_ATTR_FLOAT:
      return record.f;
    case TENON_ATTR_TEXT:
      return std::string(model.strings[static_cast<StringId>(record.i)]);
    case TENON_ATTR_INTS:
      return std::vector<std::int64_t>(model.ints.begin() + record.first,
                                       model.ints.begin() + record.first + record.count);
    case TENON_ATTR_TEXTS:
      return split_texts(model.strings[static_cast<StringId>(record.i)]);
    case TENON_ATTR_TENSOR:
      return model.tables[record.first];
    default:
      return std::vector<double>(model.floats.begin() + record.first,
                                 model.floats.begin() + record.first + record.count);
  }
}

// Prints all elements, because such texts are also used to compare values.
static std::string table_string(const Tensor& tensor) {
  auto type = fmt::format("{} {}", name_of(tensor.dtype()), to_string(tensor.shape()));
  if (tensor.storage() != Storage::dense || !table_types.has(tensor.dtype()) ||
      tensor.size() > TENON_MAX_TABLE)
    return type;
  const auto whole = tensor.to("cpu").make_contiguous();
  return visit<table_types>(whole.dtype(), [&]<class T>() {
    return fmt::format("{} {{{}}}", type, fmt::join(whole.values<T>(), ", "));
  });
}

std::string to_string(const AttributeValue& value) {
  struct Printer {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t whole) const { return std::to_string(whole); }
    std::string operator()(double real) const { return fmt::to_string(real); }
    std::string operator()(const std::string& text) const { return '"' + text + '"'; }
    std::string operator()(const std::vector<std::int64_t>& list) const {
      return fmt::format("[{}]", fmt::join(list, ", "));
    }
    std::string operator()(const std::vector<double>& list) const {
      return fmt::format("[{}]", fmt::join(list, ", "));
    }
    std::string operator()(const std::vector<std::string>& list) const {
      return list.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(list, "\", \""));
    }
    std::string operator()(const Tensor& tensor) const { return table_string(tensor); }
  };
  return std::visit(Printer{}, value.variant());
}

std::string message_text(const AttributeValue& value) {
  const auto in_brackets = [](const auto& list) {
    return list.empty() ? std::string("[]") : fmt::format("[{}]", listed(list));
  };
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&value.variant()))
    return in_brackets(*whole);
  if (const auto* real = std::get_if<std::vector<double>>(&value.variant()))
    return in_brackets(*real);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value.variant())) {
    std::vector<std::string> quoted;
    for (const auto& text : *texts) quoted.push_back('"' + text + '"');
    return in_brackets(quoted);
  }
  const auto* tensor = std::get_if<Tensor>(&value.variant());
  constexpr std::int64_t max_elements = 16;
  return tensor != nullptr && tensor->size() > max_elements
             ? fmt::format("{} {}", name_of(tensor->dtype()), to_string(tensor->shape()))
             : to_string(value);
}

}  // namespace tenon
