// Names as users have them from elsewhere, and the graph's own.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <tenon/host/graph_info.hpp>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// The name that a graph can have: a colon means one of several outputs of a node, and no name has control characters.
std::string allowed_name(std::string_view name);

std::vector<std::string> input_names_of(const GraphModel& model);
std::vector<std::string> output_names_of(const GraphModel& model);

/// Keeps in the graph's notes that `name` is `given` in the model it came from.
void note_changed_name(GraphModel& model, const std::string& name, std::string_view given);
/// All that was noted, by the graph's names.
std::map<std::string, std::string> changed_names(const GraphModel& model);

/// Returns what own_name() finds among the graph's inputs or outputs, or `given` if it finds nothing.
std::string own_input_name(const GraphModel& model, const std::string& given);
std::string own_output_name(const GraphModel& model, const std::string& given);

/// Names by which something is given, mapped to the graph's own, which are among `names`, where those differ.
template <class Given>
std::map<std::string, std::string> own_names(const GraphModel& model, const std::vector<std::string>& names, const Given& given) {
  std::map<std::string, std::string> own;
  const auto changed = changed_names(model);
  for (const auto& [name, value] : given)
    if (allowed_name(name) != name)
      if (auto found = own_name(names, name, changed); !found.empty() && found != name) own.emplace(name, std::move(found));
  return own;
}

/// Renames keys; a key that is taken stays, so that nothing is lost.
template <class Values>
void rename_keys(Values& values, const std::map<std::string, std::string>& names) {
  for (const auto& [from, to] : names)
    if (!values.contains(to))
      if (auto entry = values.extract(from)) entry.key() = to, values.insert(std::move(entry));
}

/// Returns the values under the names of the graph's inputs.
template <class Values>
Values by_input_names(const GraphModel& model, Values values) {
  rename_keys(values, own_names(model, input_names_of(model), values));
  return values;
}

}  // namespace tenon
