// Reads the ONNX mappings of a manifest. Repeats all checks that op.onnx() makes at compile time,
// and checks values against the parameters' kinds.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <tenon/host/operator_info.hpp>

#include "plugin/discovery/manifest_readers.hpp"

namespace tenon {
namespace {

constexpr std::size_t max_forms = 64, max_entries = 256, longest_name = 128;
constexpr std::int64_t max_inputs = 32;
constexpr std::array<std::string_view, 15> known_keys = {
    "domain", "type",      "since",  "until",     "types",   "inputs", "outputs", "attributes",
    "values", "inputs_as", "halves", "constants", "without", "only",   "ignored"};

/// Reads one mapping. Duplicate uses are refused at the second occurrence.
class FormReader {
 public:
  FormReader(const JsonField& entry, const OperatorInfo& info) : entry_(entry), info_(info) {}

  OnnxForm read() {
    read_head();
    read_names("outputs", form_.outputs, outputs_);
    // read first, because defaults are translated with them
    each("values", [&](const JsonField& item) { read_value(item); });
    each("attributes", [&](const JsonField& item) { read_attribute(item); });
    each("inputs_as", [&](const JsonField& item) { read_input_as(item); });
    each("halves", [&](const JsonField& item) { read_halves(item); });
    each("constants", [&](const JsonField& item) { read_constant(item); });
    each("without", [&](const JsonField& item) { read_without(item); });
    each("only", [&](const JsonField& item) { read_only(item); });
    each("ignored", [&](const JsonField& item) { form_.ignored.push_back(attribute(item)); });
    order_inputs();
    require_params();
    if (!entry_.find("outputs"))
      for (const auto& output : info_.outputs)
        if (!output.hidden) form_.outputs.push_back(output.name);
    return std::move(form_);
  }

 private:
  template <class Read>
  void each(const char* key, Read read) {
    const auto list = entry_.find(key);
    if (!list) return;
    if (list->size() > max_entries)
      list->refuse("has {} entries; at most {} are allowed", list->size(), max_entries);
    for (const auto& item : list->list()) read(item);
  }
  static std::string name(const JsonField& field) {
    auto text = plain_text(field);
    if (text.size() > longest_name)
      field.refuse("has {} bytes; at most {} are allowed", text.size(), longest_name);
    return text;
  }
  static std::string full_name(const JsonField& field) {
    auto text = name(field);
    if (text.empty()) field.refuse("is empty");
    return text;
  }
  static std::size_t entries(const JsonField& item, std::size_t min_size, std::size_t max_size) {
    if (item.size() < min_size || item.size() > max_size) require_entries(item, min_size);
    return item.size();
  }

  void read_head() {
    form_.domain = name(entry_["domain"]);
    if (form_.domain == "ai.onnx") form_.domain.clear();
    form_.type = full_name(entry_["type"]);
    form_.since = version(entry_["since"]);
    if (const auto until = entry_.find("until")) {
      form_.until = version(*until);
      if (*form_.until < form_.since)
        until->refuse("is {}, which is less than since ({})", *form_.until, form_.since);
    }
    if (const auto types = entry_.find("types")) {
      DTypeMask mask = 0;
      for (const auto& item : types->list())
        mask = static_cast<DTypeMask>(mask | 1U << static_cast<unsigned>(read_dtype(item)));
      if ((mask & info_.types) == 0) types->refuse("has no dtype that the operator supports");
      form_.types = static_cast<DTypeMask>(mask & info_.types);
    }
  }
  static int version(const JsonField& field) {
    return static_cast<int>(field.integer({}, 1, std::numeric_limits<std::int32_t>::max()));
  }

  /// Reads an attribute's name, which must be new to the mapping.
  std::string attribute(const JsonField& field) {
    auto text = full_name(field);
    if (!attributes_.insert(text).second)
      field.refuse("is '{}', an attribute that the mapping already uses", text);
    return text;
  }
  const ParamInfo& param_at(const JsonField& field) const {
    const std::string text = identifier(field);
    const int found = info_.find_param(text);
    if (found < 0) field.refuse("is '{}', which is not a parameter", text);
    return info_.params[static_cast<std::size_t>(found)];
  }
  const ParamInfo& set_param(const JsonField& field) {
    const ParamInfo& found = param_at(field);
    if (!set_.insert(found.name).second)
      field.refuse("is '{}', a parameter that the mapping already sets", found.name);
    return found;
  }
  std::size_t input_index(const JsonField& field) {
    const auto index = field.integer({}, 0, max_inputs - 1);
    if (!used_indices_.insert(static_cast<std::size_t>(index)).second)
      field.refuse("is {}, an input position that is already used", index);
    return static_cast<std::size_t>(index);
  }

  void read_names(const char* key, std::vector<std::string>& names, std::set<std::string>& used) {
    each(key, [&](const JsonField& item) {
      if (names.size() == max_inputs)
        item.refuse("is one too many; at most {} are allowed", max_inputs);
      auto text = plain_text(item);
      const bool output = std::string_view(key) == "outputs";
      const bool known =
          output ? info_.find_output(text) >= 0 : info_.find_input(text) >= 0 || is_state(text);
      if (!text.empty() && !known)
        item.refuse("is {}, which is not {}", in_quotes(text),
                    output ? "an output" : "an input or a state");
      if (!text.empty() && !used.insert(text).second)
        item.refuse("is '{}', which is already in the list", text);
      names.push_back(std::move(text));
    });
  }
  bool is_state(std::string_view text) const {
    return std::any_of(info_.states.begin(), info_.states.end(),
                       [&](const StateInfo& state) { return state.name == text; });
  }

  /// Reads an ONNX value: a number, a string, or a list of integers or strings, but not a bool,
  /// which ONNX lacks.
  static AttributeValue onnx_value(const JsonField& field) {
    if (field.get<std::int64_t>() != nullptr) return field.integer();
    if (field.get<double>() != nullptr) return not_nan(field);
    if (field.get<std::string>() != nullptr) return plain_text(field);
    if (field.get<bool>() != nullptr) return std::int64_t{field.boolean()};
    const bool texts = field.size() > 0 && field.at(0).get<std::string>() != nullptr;
    std::vector<std::int64_t> numbers;
    std::vector<std::string> words;
    for (const auto& item : field.list())
      texts ? words.push_back(plain_text(item)) : numbers.push_back(item.integer());
    return texts ? AttributeValue(std::move(words)) : AttributeValue(std::move(numbers));
  }
  AttributeValue absent(const JsonField& field, const ParamInfo& param_info) const {
    auto value = onnx_value(field);
    if (!form_.value_of(param_info, value))
      field.refuse("is {}, which is not a valid value of parameter '{}'", to_string(value),
                   param_info.name);
    return value;
  }

  void read_value(const JsonField& item) {
    require_entries(item, 3);
    const ParamInfo& param_info = param_at(item.at(0));
    auto from = onnx_value(item.at(1));
    if (item.at(1).get<std::int64_t>() == nullptr && item.at(1).get<std::string>() == nullptr)
      item.at(1).refuse("is neither an integer nor a string");
    for (const auto& before : form_.values)
      if (before.param == param_info.name && before.theirs == from)
        item.at(1).refuse("is {}, which the mapping already translates", to_string(from));
    form_.values.push_back(
        {param_info.name, std::move(from), read_param_value(item.at(2), param_info)});
  }
  void read_attribute(const JsonField& item) {
    const bool has_default = entries(item, 2, 3) == 3;
    auto text = attribute(item.at(0));
    const ParamInfo& param_info = set_param(item.at(1));
    form_.attributes.push_back(
        {std::move(text), param_info.name,
         has_default ? std::optional(absent(item.at(2), param_info)) : std::nullopt});
  }
  void read_input_as(const JsonField& item) {
    const bool has_default = entries(item, 2, 3) == 3;
    const ParamInfo& param_info = set_param(item.at(0));
    form_.inputs_as.push_back(
        {input_index(item.at(1)), param_info.name,
         has_default ? std::optional(absent(item.at(2), param_info)) : std::nullopt});
  }
  void read_halves(const JsonField& item) {
    require_entries(item, 3);
    OnnxForm::Halves halves;
    if (item.at(0).get<std::int64_t>() != nullptr)
      halves.place = input_index(item.at(0));
    else
      halves.name = attribute(item.at(0));
    const ParamInfo &first = set_param(item.at(1)), &second = param_at(item.at(2));
    if (second.name != first.name) set_param(item.at(2));
    for (const auto* half : {&first, &second})
      if (half->kind != ParamKind::ints && half->kind != ParamKind::floats)
        item.refuse("splits a list in two, but parameter '{}' is not a list of numbers",
                    half->name);
    halves.first = first.name, halves.second = second.name;
    form_.halves.push_back(std::move(halves));
  }
  void read_constant(const JsonField& item) {
    require_entries(item, 2);
    const ParamInfo& param_info = set_param(item.at(0));
    form_.constants.push_back({param_info.name, read_param_value(item.at(1), param_info)});
  }
  void read_without(const JsonField& item) {
    require_entries(item, 3);
    const auto& input = info_.inputs[static_cast<std::size_t>(input_at(item.at(0), info_))];
    if (!input.optional) item.at(0).refuse("is '{}', which is never absent", input.name);
    const ParamInfo& param_info = set_param(item.at(1));
    form_.without.push_back(
        {input.name, param_info.name, read_param_value(item.at(2), param_info)});
  }
  void read_only(const JsonField& item) {
    require_entries(item, 2);
    const auto text = full_name(item.at(0));
    auto value = onnx_value(item.at(1));
    const auto known = std::find_if(form_.only.begin(), form_.only.end(),
                                    [&](const auto& only) { return only.name == text; });
    if (known != form_.only.end()) return known->values.push_back(std::move(value));
    form_.only.push_back({attribute(item.at(0)), {std::move(value)}});
  }

  /// Inputs by name take the positions that parameters leave free, in order.
  void order_inputs() {
    std::vector<std::string> names;
    std::set<std::string> used;
    read_names("inputs", names, used);
    const auto list = entry_.find("inputs");
    if (!list)
      for (const auto& input : info_.inputs) names.push_back(input.name), used.insert(input.name);
    for (const auto& input : info_.inputs)
      if (!input.optional && !input.variadic && !used.contains(input.name))
        list->refuse("leaves out '{}', which is not optional", input.name);
    std::size_t next = 0;
    const auto skip = [&] {
      for (; used_indices_.contains(next); ++next) form_.inputs.emplace_back();
    };
    for (std::size_t i = 0; i < names.size(); ++i) {
      skip();
      form_.inputs.push_back(names[i]), ++next;
      if (!info_.variadic() || names[i] != info_.inputs.back().name) continue;
      if (i + 1 < names.size())
        list->refuse("has names after '{}', which takes all remaining inputs", names[i]);
      if (!used_indices_.empty() && *used_indices_.rbegin() >= next)
        entry_.refuse("has an input after '{}', which takes all remaining inputs", names[i]);
      return;
    }
    while (!used_indices_.empty() && next <= *used_indices_.rbegin()) {
      skip();
      if (next < *used_indices_.rbegin()) form_.inputs.emplace_back(), ++next;
    }
  }

  /// A parameter that counts outputs is set from the number of outputs.
  void require_params() const {
    for (const auto& param : info_.params) {
      const bool counts =
          std::any_of(info_.outputs.begin(), info_.outputs.end(),
                      [&](const OutputInfo& output) { return output.count == param.name; });
      const bool conditional =
          std::any_of(form_.without.begin(), form_.without.end(),
                      [&](const auto& entry) { return entry.param == param.name; });
      if (param.required && !counts && (conditional || !set_.contains(param.name)))
        entry_.refuse("leaves out parameter '{}', which is required", param.name);
    }
  }

  const JsonField& entry_;
  const OperatorInfo& info_;
  OnnxForm form_;
  std::set<std::string> attributes_, set_, outputs_;
  std::set<std::size_t> used_indices_;  // input positions used for parameters
};

bool is_known(const JsonField& form) {
  const auto keys = form.object({});
  return std::all_of(keys.begin(), keys.end(), [](const JsonField::Entry& entry) {
    return std::find(known_keys.begin(), known_keys.end(), entry.key) != known_keys.end();
  });
}

bool overlap(const OnnxForm& left, const OnnxForm& right) {
  const bool same = left.domain == right.domain && left.type == right.type;
  return same && left.covers(std::max(left.since, right.since)) &&
         right.covers(std::max(left.since, right.since));
}

}  // namespace

void read_onnx(const JsonField& root, OperatorInfo& info) {
  const auto list = root.find("onnx");
  if (!list) return;
  if (list->size() > max_forms)
    list->refuse("has {} mappings; at most {} are allowed", list->size(), max_forms);
  for (const auto& entry : list->list()) {
    if (!is_known(entry)) continue;  // of a newer SDK: this version cannot represent it
    auto form = FormReader(entry, info).read();
    for (const auto& before : info.onnx)
      if (overlap(before, form))
        entry.refuse("is '{}', whose versions overlap with those of an earlier mapping", form.type);
    info.onnx.push_back(std::move(form));
  }
}

}  // namespace tenon
