// Maps user-provided names to the graph's own.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <tenon/host/graph_info.hpp>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// Returns the name as a graph may contain it: colons denote a node's outputs, and control
/// characters are not allowed.
std::string allowed_name(std::string_view name);

std::vector<std::string> input_names_of(const GraphModel& model);
std::vector<std::string> output_names_of(const GraphModel& model);

/// Records in the graph's notes that `name` was `given` in the original model.
void note_changed_name(GraphModel& model, const std::string& name, std::string_view given);
/// Returns all recorded names by the graph's names.
std::map<std::string, std::string> changed_names(const GraphModel& model);

/// Returns the graph's input or output that own_name() finds for `given`, or `given` if there is
/// none.
std::string own_input_name(const GraphModel& model, const std::string& given);
std::string own_output_name(const GraphModel& model, const std::string& given);

/// Maps each key of `given` to the name among `names` that it stands for, if the two differ.
template <class Given>
std::map<std::string, std::string> own_names(const GraphModel& model,
                                             const std::vector<std::string>& names,
                                             const Given& given) {
  std::map<std::string, std::string> own;
  const auto changed = changed_names(model);
  for (const auto& [name, value] : given)
    if (allowed_name(name) != name)
      if (auto found = own_name(names, name, changed); !found.empty() && found != name)
        own.emplace(name, std::move(found));
  return own;
}

/// Renames keys. A key whose new name is taken keeps its old one, so no value is lost.
template <class Values>
void rename_keys(Values& values, const std::map<std::string, std::string>& names) {
  for (const auto& [from, to] : names)
    if (!values.contains(to))
      if (auto entry = values.extract(from)) entry.key() = to, values.insert(std::move(entry));
}

/// Returns the values, keyed by the names of the graph's inputs.
template <class Values>
Values by_input_names(const GraphModel& model, Values values) {
  rename_keys(values, own_names(model, input_names_of(model), values));
  return values;
}

}  // namespace tenon
