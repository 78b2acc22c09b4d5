// Reads changes since older versions of an operator.
#include <algorithm>

#include "plugin/discovery/manifest_readers.hpp"
#include "plugin/operator_history.hpp"

namespace tenon {
namespace {

using Added = OperatorInfo::Added;

Added read_added(const std::optional<JsonField>& list) {
  Added added;
  if (!list) return added;
  for (const auto& entry : list->list()) {
    require_entries(entry, 2);
    added.emplace_back(read_version(entry.at(0)), identifier(entry.at(1)));
  }
  return added;
}

std::vector<OperatorInfo::Renamed> read_renamed(const JsonField& list) {
  std::vector<OperatorInfo::Renamed> renamed;
  for (const auto& entry : list.list()) {
    require_entries(entry, 3);
    renamed.push_back(
        {read_version(entry.at(0)), identifier(entry.at(1)), identifier(entry.at(2))});
  }
  return renamed;
}

// Reads the value of a removed parameter, whose kind is unknown.
AttributeValue read_value(const JsonField& field) {
  if (const auto* flag = field.get<bool>()) return *flag;
  if (const auto* integer = field.get<std::int64_t>()) return *integer;
  if (field.get<double>() != nullptr) return not_nan(field);
  if (field.get<std::string>() != nullptr) return plain_text(field);
  const auto items = field.list();
  if (!items.empty() && items[0].get<std::string>() != nullptr) {
    std::vector<std::string> texts;
    for (const auto& item : items) texts.push_back(plain_text(item));
    return texts;
  }
  std::vector<double> numbers;
  for (const auto& item : items) numbers.push_back(not_nan(item));
  return numbers;
}

std::vector<OperatorInfo::Removed> read_removed(const std::optional<JsonField>& list) {
  std::vector<OperatorInfo::Removed> removed;
  if (!list) return removed;
  for (const auto& entry : list->list()) {
    if (entry.size() != 3) require_entries(entry, 2);
    removed.push_back({read_version(entry.at(0)), identifier(entry.at(1)), {}});
    if (entry.size() == 3) removed.back().was = read_value(entry.at(2));
  }
  return removed;
}

/// Returns whether a parameter has this name now, or had it until it was renamed (possibly
/// repeatedly) or removed.
bool was_ever_known(const OperatorInfo& info, std::string_view name) {
  return info.find_param(name) >= 0 ||
         std::any_of(info.renamed.begin(), info.renamed.end(),
                     [&](const auto& entry) { return entry.from == name; }) ||
         std::any_of(info.removed.begin(), info.removed.end(),
                     [&](const auto& entry) { return entry.name == name; });
}

void check_version(const JsonField& entry, int version, const OperatorInfo& info) {
  if (version > info.version)
    entry.at(0).refuse("is {}, but the operator's version is {}", version, info.version);
}

void check_parameters(const JsonField& root, const OperatorInfo& info) {
  for (std::size_t i = 0; i < info.renamed.size(); ++i) {
    const auto& [version, from, to] = info.renamed[i];
    const auto entry = root["renamed"].at(i);
    check_version(entry, version, info);
    if (!was_ever_known(info, to)) entry.at(2).refuse("is '{}', which is not a parameter", to);
    if (from == to) entry.refuse("renames '{}' to itself", from);
  }
  for (std::size_t i = 0; i < info.added.size(); ++i) {
    const auto& [version, name] = info.added[i];
    const auto entry = root["added"].at(i);
    check_version(entry, version, info);
    if (!was_ever_known(info, name)) entry.at(1).refuse("is '{}', which is not a parameter", name);
  }
  for (std::size_t i = 0; i < info.removed.size(); ++i)
    check_version(root["removed"].at(i), info.removed[i].version, info);
}

template <class Entries>
void check_tensors(const JsonField& root, const char* key, const char* what, const Added& added,
                   const Entries& entries, const OperatorInfo& info) {
  for (std::size_t i = 0; i < added.size(); ++i) {
    const auto entry = root[key].at(i);
    check_version(entry, added[i].first, info);
    if (std::none_of(entries.begin(), entries.end(),
                     [&](const auto& tensor) { return tensor.name == added[i].second; }))
      entry.at(1).refuse("is '{}', but there is no {} of that name", added[i].second, what);
  }
  int before = 1;
  for (const auto& tensor : entries) {
    const auto since = std::find_if(added.begin(), added.end(),
                                    [&](const auto& entry) { return entry.second == tensor.name; });
    const int version = since == added.end() ? 1 : since->first;
    if (version < before)
      root[key].refuse("has {} '{}' before one of an older version", what, tensor.name);
    before = version;
  }
}

void read_former_values(const JsonField& root, OperatorInfo& info) {
  const auto list = root.find("was");
  if (!list) return;
  for (const auto& entry : list->list()) {
    require_entries(entry, 2);
    const auto name = identifier(entry.at(0));
    const auto today = current_name(name, added_in(info, name), info).name;
    const int param = today ? info.find_param(*today) : -1;
    if (param < 0 || added_in(info, name) == 1)
      entry.at(0).refuse("is '{}', which is not an added parameter", name);
    info.was.emplace_back(
        name, read_param_value(entry.at(1), info.params[static_cast<std::size_t>(param)]));
  }
}

}  // namespace

void read_history(const JsonField& root, OperatorInfo& info) {
  info.renamed = read_renamed(root["renamed"]);
  info.added = read_added(root["added"]);
  info.removed = read_removed(root.find("removed"));
  info.added_inputs = read_added(root.find("added_inputs"));
  info.added_outputs = read_added(root.find("added_outputs"));
  info.added_states = read_added(root.find("added_states"));
  check_parameters(root, info);
  check_tensors(root, "added_inputs", "input", info.added_inputs, info.inputs, info);
  check_tensors(root, "added_outputs", "output", info.added_outputs, info.outputs, info);
  check_tensors(root, "added_states", "state", info.added_states, info.states, info);
  for (std::size_t i = 0; i < info.added_inputs.size(); ++i)
    if (const auto& input =
            info.inputs[static_cast<std::size_t>(info.find_input(info.added_inputs[i].second))];
        !input.optional && !input.variadic)
      root["added_inputs"].at(i).refuse("lists input '{}', which is not optional", input.name);
  read_former_values(root, info);
}

}  // namespace tenon
