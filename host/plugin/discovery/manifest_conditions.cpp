// Reads what manifests since SDK 0.2 declare about parameters: conditions, rules and examples.
#include <algorithm>
#include <array>
#include <limits>

#include "plugin/discovery/manifest_readers.hpp"

namespace tenon {
namespace {

constexpr std::array<std::string_view, 5> condition_keys = {"backward_reads", "inplace",
                                                            "backward_inplace", "hidden", "linear"};
constexpr std::array<std::string_view, 6> relations = {"same_length",  "less_than", "at_most",
                                                       "greater_than", "at_least",  "multiple_of"};

const ParamInfo& param_at(const JsonField& field, const OperatorInfo& info) {
  const std::string name = identifier(field);
  const int found = info.find_param(name);
  if (found < 0) field.refuse("is '{}', which is not a parameter", name);
  return info.params[static_cast<std::size_t>(found)];
}

template <std::size_t N>
std::string one_of(const JsonField& field, const std::array<std::string_view, N>& known) {
  std::string name = plain_text(field);
  if (std::find(known.begin(), known.end(), name) == known.end())
    field.refuse("is {}, which this version of Tenon does not support", in_quotes(name));
  return name;
}

// Checks the condition's names according to the property that it is about.
void check_condition_names(const JsonField& names, const ConditionInfo& condition,
                           const OperatorInfo& info) {
  const bool pair = condition.of == "inplace" || condition.of == "backward_inplace";
  if (condition.of == "linear") return static_cast<void>(read_term(names, info));
  require_entries(names, pair ? 2 : 1);
  if (condition.of == "inplace") {
    input_at(names.at(0), info);
    output_at(names.at(1), info);
  } else if (condition.of == "backward_inplace") {
    output_at(names.at(0), info);
    input_at(names.at(1), info);
  } else if (condition.of == "hidden" || info.find_input(condition.names[0]) < 0) {
    output_at(names.at(0), info);
  }
}

ConditionInfo read_condition(const JsonField& entry, const OperatorInfo& info) {
  ConditionInfo condition;
  condition.of = one_of(entry["of"], condition_keys);
  const auto names = entry["names"];
  for (const auto& name : names.list()) condition.names.push_back(identifier(name));
  if (condition.names.empty()) names.refuse("is empty");
  check_condition_names(names, condition, info);
  const ParamInfo& param = param_at(entry["param"], info);
  condition.param = param.name;
  for (const auto& value : entry["values"].list())
    condition.values.push_back(read_param_value(value, param));
  if (condition.values.empty()) entry["values"].refuse("is empty");
  return condition;
}

bool is_number_list(ParamKind kind) {
  return kind == ParamKind::ints || kind == ParamKind::floats;
}

bool is_whole(ParamKind kind) {
  return kind == ParamKind::int32 || kind == ParamKind::int64 || kind == ParamKind::ints;
}

RuleInfo read_rule(const JsonField& entry, const OperatorInfo& info) {
  require_entries(entry, 3);
  RuleInfo rule{"", one_of(entry.at(1), relations), ""};
  for (const std::size_t side : {std::size_t{0}, std::size_t{2}}) {
    const ParamInfo& param = param_at(entry.at(side), info);
    const bool number = is_number_list(param.kind) || is_whole(param.kind) ||
                        param.kind == ParamKind::float32 || param.kind == ParamKind::float64;
    const bool fits = rule.relation == "same_length"   ? is_number_list(param.kind)
                      : rule.relation == "multiple_of" ? is_whole(param.kind)
                                                       : number;
    if (!fits) entry.at(side).refuse("is '{}', which {} cannot compare", param.name, rule.relation);
    (side == 0 ? rule.left : rule.right) = param.name;
  }
  return rule;
}

// Returns whether the name is an input such as "data", or "data2" of a variadic input.
bool names_input(const OperatorInfo& info, std::string_view name) {
  if (info.find_input(name) >= 0) return true;
  return std::any_of(info.inputs.begin(), info.inputs.end(), [&](const InputInfo& input) {
    return input.variadic && name.starts_with(input.name) &&
           std::all_of(name.begin() + static_cast<std::ptrdiff_t>(input.name.size()), name.end(),
                       [](char c) { return c >= '0' && c <= '9'; });
  });
}

ExampleInfo::Input read_example_input(const JsonField::Entry& entry, const OperatorInfo& info) {
  ExampleInfo::Input input;
  input.name = entry.key;
  if (!names_input(info, input.name))
    entry.value.refuse("is for '{}', which is not an input", input.name);
  const auto shape = entry.value["shape"];
  if (shape.size() > TENON_MAX_RANK)
    shape.refuse("has {} dimensions; at most {} are allowed", shape.size(), TENON_MAX_RANK);
  std::int64_t size = 1;
  for (const auto& dim : shape.list()) {
    input.shape.push_back(dim.integer({}, 0, std::numeric_limits<std::int32_t>::max()));
    if (__builtin_mul_overflow(size, input.shape.back(), &size)) shape.refuse("is too large");
  }
  if (const auto dtype = entry.value["dtype"]; !dtype.is_null())
    input.dtype = name_of(read_dtype(dtype));
  const auto values = entry.value["values"];
  if (values.is_null()) return input;
  for (const auto& value : values.list()) input.values.push_back(value.number());
  if (static_cast<std::int64_t>(input.values.size()) != size)
    values.refuse("has {} values, but the shape of '{}' needs {}", input.values.size(), input.name,
                  size);
  return input;
}

ExampleInfo read_example(const JsonField& entry, const OperatorInfo& info) {
  ExampleInfo example;
  for (const auto& input : entry["inputs"].object({}))
    example.inputs.push_back(read_example_input(input, info));
  for (const auto& param : entry["params"].object({})) {
    const int found = info.find_param(param.key);
    if (found < 0) param.value.refuse("is for '{}', which is not a parameter", param.key);
    example.params.push_back(
        {std::string(param.key),
         read_param_value(param.value, info.params[static_cast<std::size_t>(found)])});
  }
  return example;
}

template <class Entry>
void read_all(const JsonField& root, const char* key, const OperatorInfo& info,
              std::vector<Entry>& entries, Entry (*read)(const JsonField&, const OperatorInfo&)) {
  if (const auto list = root.find(key))
    for (const auto& entry : list->list()) entries.push_back(read(entry, info));
}

}  // namespace

void read_conditions(const JsonField& root, OperatorInfo& info) {
  read_all(root, "conditions", info, info.conditions, read_condition);
}

void read_rules(const JsonField& root, OperatorInfo& info) {
  read_all(root, "rules", info, info.rules, read_rule);
}

void read_examples(const JsonField& root, OperatorInfo& info) {
  read_all(root, "examples", info, info.examples, read_example);
}

}  // namespace tenon
