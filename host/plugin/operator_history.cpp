#include "plugin/operator_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/failure.hpp>
#include <tenon/visit.hpp>

namespace tenon {
namespace {

// Compares as the parameter's kind does: a float32 set to 0.1 may be stored as the double of
// either.
bool same_number(double left, double right) {
  return left == right || static_cast<double>(static_cast<float>(left)) == right ||
         left == static_cast<double>(static_cast<float>(right));
}

std::optional<std::vector<double>> numbers_in(const AttributeValue& value) {
  std::vector<double> numbers;
  if (const auto* whole = std::get_if<std::int64_t>(&value.variant()))
    return numbers.assign(1, static_cast<double>(*whole)), numbers;
  if (const auto* real = std::get_if<double>(&value.variant()))
    return numbers.assign(1, *real), numbers;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value.variant()))
    return numbers.assign(list->begin(), list->end()), numbers;
  if (const auto* list = std::get_if<std::vector<double>>(&value.variant())) return *list;
  const auto* table = std::get_if<Tensor>(&value.variant());
  if (table == nullptr) return {};
  visit<table_types>(table->dtype(), [&]<class T>() {
    for (const T item : table->values<T>()) numbers.push_back(static_cast<double>(item));
  });
  return numbers;
}

bool same_value(const AttributeValue& left, const AttributeValue& right) {
  const auto these = numbers_in(left), those = numbers_in(right);
  if (these && those)
    return std::equal(these->begin(), these->end(), those->begin(), those->end(), same_number);
  return left == right;
}

void require_droppable(const OperatorInfo::Removed& removed, const std::string& name,
                       const AttributeValue& value) {
  if (!removed.was || same_value(*removed.was, value)) return;
  throw Failure(FailureKind::plugin,
                fmt::format("parameter '{}' is {}, but version {} of the operator removed it and "
                            "always computes as for {}",
                            name, to_string(value), removed.version, to_string(*removed.was)),
                "use a plugin that has an older version of the operator");
}

template <class Entries>
bool names(const Entries& entries, std::string_view name) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const auto& entry) { return entry.name == name; });
}

// Tensors are matched by position, so new ones must come last. A renamed tensor is not a change.
bool may_be_left_out(const InputInfo& input) {
  return input.optional || input.variadic;
}
bool may_be_left_out(const auto&) {
  return true;
}

template <class Entries>
std::optional<Change> change_of(const char* kind, const Entries& stored, const Entries& here,
                                const OperatorInfo::Added& added, int since) {
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const auto& name = stored[i].name;
    if (i < here.size() && here[i].name == name) continue;
    if (names(here, name))
      return Change{fmt::format("has {} '{}' in another position", kind, name), {}};
    if (i >= here.size() || names(stored, here[i].name))
      return Change{fmt::format("no longer has {} '{}'", kind, name), {}};
  }
  for (std::size_t i = stored.size(); i < here.size(); ++i) {
    const auto& name = here[i].name;
    if (std::none_of(added.begin(), added.end(), [&](const auto& entry) {
          return entry.first > since && entry.second == name;
        }))
      return Change{fmt::format("has the new {} '{}'", kind, name),
                    may_be_left_out(here[i])
                        ? fmt::format("op.added_{}({}, \"{}\")", kind, since + 1, name)
                        : ""};
  }
  return {};
}

std::optional<Change> change_of_parameters(const OperatorInfo& stored, const OperatorInfo& here) {
  std::vector<std::string> known;
  for (const auto& param : stored.params) {
    const auto today = current_name(param.name, stored.version, here);
    if (today.name && here.find_param(*today.name) < 0)
      return Change{fmt::format("no longer has parameter '{}'", param.name),
                    fmt::format("op.removed({}, \"{}\") or op.renamed({}, \"{}\", ...)",
                                here.version, param.name, here.version, param.name)};
    if (today.name) known.push_back(*today.name);
  }
  for (const auto& [name, value] : here.was)
    if (added_in(here, name) > stored.version)
      if (const auto today = current_name(name, added_in(here, name), here); today.name)
        known.push_back(*today.name);
  for (const auto& param : here.params)
    if (param.required && std::find(known.begin(), known.end(), param.name) == known.end())
      return Change{fmt::format("requires the new parameter '{}'", param.name),
                    fmt::format("op.added({}, \"{}\").was(...)", here.version, param.name)};
  return {};
}

}  // namespace

// Names change from version to version, so entries are applied in version order. Within one
// version, a name is free once its parameter is removed.
CurrentName current_name(std::string name, int since, const OperatorInfo& info) {
  std::vector<int> versions;
  for (const auto& entry : info.removed) versions.push_back(entry.version);
  for (const auto& entry : info.renamed) versions.push_back(entry.version);
  std::sort(versions.begin(), versions.end());
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
  for (const int version : versions) {
    if (version <= since) continue;
    for (const auto& entry : info.removed)
      if (entry.version == version && entry.name == name) return {{}, &entry};
    for (const auto& entry : info.renamed)
      if (entry.version == version && entry.from == name) name = entry.to;
  }
  return {std::move(name), nullptr};
}

int added_in(const OperatorInfo& info, std::string_view param) {
  const auto found = std::find_if(info.added.rbegin(), info.added.rend(),
                                  [&](const auto& entry) { return entry.second == param; });
  return found == info.added.rend() ? 1 : found->first;
}

Attributes upgraded(const Attributes& stored_attributes, int stored, const OperatorInfo& info) {
  Attributes today;
  for (const auto& [name, value] : stored_attributes) {
    const auto now = current_name(name, stored, info);
    if (now.removed != nullptr)
      require_droppable(*now.removed, name, value);
    else
      today.set(*now.name, value);
  }
  for (const auto& [name, value] : info.was)
    if (const int version = added_in(info, name); version > stored)
      if (const auto now = current_name(name, version, info); now.name) today.set(*now.name, value);
  return today;
}

Attributes with_current_names(const Attributes& attributes, const OperatorInfo& info) {
  Attributes today;
  for (const auto& [name, value] : attributes) {
    const auto now = info.find_param(name) >= 0 ? CurrentName{name} : current_name(name, 0, info);
    if (now.removed != nullptr)
      require_droppable(*now.removed, name, value);
    else
      today.set(*now.name, value);
  }
  return today;
}

std::optional<Change> change_since(const OperatorInfo& stored, const OperatorInfo& here) {
  if (auto change =
          change_of("input", stored.inputs, here.inputs, here.added_inputs, stored.version))
    return change;
  if (auto change =
          change_of("output", stored.outputs, here.outputs, here.added_outputs, stored.version))
    return change;
  if (auto change =
          change_of("state", stored.states, here.states, here.added_states, stored.version))
    return change;
  return change_of_parameters(stored, here);
}

}  // namespace tenon
