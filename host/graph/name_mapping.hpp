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

/// Records in the graph's notes that `name` was `user_name` in the original model.
void note_changed_name(GraphModel& model, const std::string& name, std::string_view user_name);
/// Returns all recorded names by the graph's names.
std::map<std::string, std::string> changed_names(const GraphModel& model);

/// Returns the graph's input or output that name_in_graph() finds for `user_name`, or `user_name`
/// if there is none.
std::string graph_input_name(const GraphModel& model, const std::string& user_name);
std::string graph_output_name(const GraphModel& model, const std::string& user_name);

/// Maps each key of `values` to the name among `names` that it denotes, if the two differ.
template <class Named>
std::map<std::string, std::string> graph_names(const GraphModel& model,
                                               const std::vector<std::string>& names,
                                               const Named& values) {
  std::map<std::string, std::string> renamed;
  const auto changed = changed_names(model);
  for (const auto& [name, value] : values)
    if (allowed_name(name) != name)
      if (auto found = name_in_graph(names, name, changed); !found.empty() && found != name)
        renamed.emplace(name, std::move(found));
  return renamed;
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
  rename_keys(values, graph_names(model, input_names_of(model), values));
  return values;
}

}  // namespace tenon
