#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "plugin/discovery/manifest_readers.hpp"

namespace tenon {
namespace {

/// Checks that the names of a list's entries are not in `used`, and adds them.
template <class Entries>
void require_unique(const JsonField& root, const char* key, const Entries& entries,
                    std::set<std::string_view>& used) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!used.insert(entries[i].name).second)
      root[key].at(i).refuse("is called '{}', which is already used", entries[i].name);
  }
}

/// Inputs and outputs share one set, because backward_reads refers to both by name.
void check_names(const JsonField& root, const OperatorInfo& info) {
  std::set<std::string_view> tensors, states, params;
  require_unique(root, "inputs", info.inputs, tensors);
  require_unique(root, "outputs", info.outputs, tensors);
  require_unique(root, "states", info.states, states);
  require_unique(root, "params", info.params, params);
  if (info.outputs.empty())
    root["outputs"].refuse("is empty; an operator needs at least one output");
  std::set<std::string_view> names{info.name};
  for (std::size_t i = 0; i < info.aliases.size(); ++i) {
    if (!names.insert(info.aliases[i]).second)
      root["aliases"].at(i).refuse("is '{}', a name that the operator already has",
                                   info.aliases[i]);
  }
}

void check_inputs(const JsonField& root, const OperatorInfo& info) {
  for (std::size_t i = 0; i + 1 < info.inputs.size(); ++i) {
    if (info.inputs[i].variadic)
      root["inputs"].at(i).refuse("is variadic; only the last input may be");
  }
}

void check_counts(const JsonField& root, const OperatorInfo& info) {
  for (std::size_t i = 0; i < info.outputs.size(); ++i) {
    const std::string& count = info.outputs[i].count;
    if (count.empty()) continue;
    const int param = info.find_param(count);
    const auto field = root["outputs"].at(i)["count"];
    if (param < 0) field.refuse("is '{}', which is not a parameter", count);
    const ParamKind kind = info.params[static_cast<std::size_t>(param)].kind;
    if (kind != ParamKind::int32 && kind != ParamKind::int64)
      field.refuse("is '{}', which is not an integer parameter", count);
  }
}

}  // namespace

int input_at(const JsonField& field, const OperatorInfo& info) {
  const std::string name = identifier(field);
  const int found = info.find_input(name);
  if (found < 0) field.refuse("is '{}', which is not an input", name);
  return found;
}

int output_at(const JsonField& field, const OperatorInfo& info) {
  const std::string name = identifier(field);
  const int found = info.find_output(name);
  if (found < 0) field.refuse("is '{}', which is not an output", name);
  return found;
}

std::pair<int, int> read_term(const JsonField& names, const OperatorInfo& info) {
  const auto count = names.size();
  if (count != 1 && count != 2) names.refuse("lists {} inputs, but a term has one or two", count);
  const int left = input_at(names.at(0), info),
            right = count == 2 ? input_at(names.at(1), info) : -1;
  const auto is_variadic = [&](int input) {
    return input >= 0 && info.inputs[static_cast<std::size_t>(input)].variadic;
  };
  if (left == right)
    names.refuse("is a product of '{}' with itself",
                 info.inputs[static_cast<std::size_t>(left)].name);
  if (right >= 0 && (is_variadic(left) || is_variadic(right)))
    names.refuse("is a product with a variadic input");
  if (info.outputs.size() != 1 || !info.outputs[0].count.empty())
    names.refuse("is linear in inputs, but needs a single output");
  return {left, right};
}

namespace {

template <class First, class Second>
std::vector<std::pair<int, int>> read_pairs(const JsonField& list, const OperatorInfo& info,
                                            First first, Second second) {
  std::vector<std::pair<int, int>> pairs;
  for (const auto& entry : list.list()) {
    require_entries(entry, 2);
    const int left = first(entry.at(0), info);
    pairs.emplace_back(left, second(entry.at(1), info));
  }
  return pairs;
}

void read_backward_reads(const JsonField& field, OperatorInfo& info) {
  info.backward_reads_input.assign(info.inputs.size(), field.is_null());
  info.backward_reads_output.assign(info.outputs.size(), field.is_null());
  if (field.is_null()) return;
  for (const auto& item : field.list()) {
    const std::string name = identifier(item);
    const int input = info.find_input(name), output = info.find_output(name);
    if (input < 0 && output < 0) item.refuse("is '{}', which is neither input nor output", name);
    if (input >= 0) info.backward_reads_input[static_cast<std::size_t>(input)] = true;
    if (output >= 0) info.backward_reads_output[static_cast<std::size_t>(output)] = true;
  }
}

void read_channels_last(const JsonField& root, OperatorInfo& info) {
  info.channels_last_input.assign(info.inputs.size(), false);
  info.channels_last_output.assign(info.outputs.size(), false);
  for (std::size_t i = 0; i < info.channels_last.size(); ++i) {
    const auto& name = info.channels_last[i];
    const auto item = root["channels_last"].at(i);
    const int input = info.find_input(name), output = info.find_output(name);
    if (input < 0 && output < 0) item.refuse("is '{}', which is neither input nor output", name);
    if (output >= 0 && info.allocates(static_cast<std::size_t>(output)))
      item.refuse("is '{}', which the kernel allocates", name);
    auto used = output >= 0 ? info.channels_last_output[static_cast<std::size_t>(output)]
                            : info.channels_last_input[static_cast<std::size_t>(input)];
    if (used) item.refuse("is '{}', which is already in the list", name);
    used = true;
  }
  if (info.prefers_channels_last && info.channels_last.empty())
    root["prefers_channels_last"].refuse("is true, but channels_last is empty");
}

}  // namespace

void read_references(const JsonField& root, OperatorInfo& info) {
  check_names(root, info);
  check_inputs(root, info);
  check_counts(root, info);
  info.inplace = read_pairs(root["inplace"], info, input_at, output_at);
  info.backward_inplace = read_pairs(root["backward_inplace"], info, output_at, input_at);
  read_backward_reads(root["backward_reads"], info);
  read_channels_last(root, info);
  if (const auto linear = root.find("linear"))
    for (const auto& names : linear->list()) {
      const auto term = read_term(names, info);
      for (const auto& [left, right] : info.linear)
        for (const int input : {left, right})
          if (input >= 0 && (input == term.first || input == term.second))
            names.refuse("has '{}', which is also in an earlier term",
                         info.inputs[static_cast<std::size_t>(input)].name);
      info.linear.push_back(term);
    }
  read_history(root, info);
  read_conditions(root, info);
  read_rules(root, info);
  read_examples(root, info);
  read_rewrites(root, info);
  read_onnx(root, info);
}

}  // namespace tenon
