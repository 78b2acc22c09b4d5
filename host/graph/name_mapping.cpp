#include "graph/name_mapping.hpp"

#include <algorithm>

#include "io/utf8.hpp"

namespace tenon {

std::string allowed_name(std::string_view name) {
  if (name.empty()) return "value";
  std::string allowed(name);
  const bool utf8 = is_utf8(name);
  for (auto& c : allowed)
    if (c == ':' || static_cast<unsigned char>(c) < ' ' || c == 127 ||
        (!utf8 && static_cast<unsigned char>(c) > 127))
      c = '_';
  if (!is_plain_text(allowed))
    for (auto& c : allowed)
      if (static_cast<unsigned char>(c) > 127) c = '_';
  return allowed;
}

// A name that was already taken got a number as its suffix.
std::string name_in_graph(const std::vector<std::string>& names, const std::string& user_name,
                          const std::map<std::string, std::string>& changed) {
  const auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has(user_name)) return user_name;
  const auto allowed = allowed_name(user_name);
  if (allowed == user_name) return {};
  for (const auto& [graph_name, original] : changed)
    if (original == user_name) return has(graph_name) ? graph_name : std::string();
  const auto matches = [&](const std::string& name) {
    if (name == allowed) return true;
    if (!name.starts_with(allowed + '_') || name.size() == allowed.size() + 1) return false;
    return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(allowed.size()) + 1, name.end(),
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  const auto found = std::find_if(names.begin(), names.end(), matches);
  return found == names.end() || std::find_if(found + 1, names.end(), matches) != names.end()
             ? std::string()
             : *found;
}

constexpr std::string_view changed_note = "name in the model of ";

void note_changed_name(GraphModel& model, const std::string& name, std::string_view user_name) {
  model.meta.emplace_back(model.strings.intern(std::string(changed_note) + name),
                          model.strings.intern(user_name));
}

std::map<std::string, std::string> changed_names(const GraphModel& model) {
  std::map<std::string, std::string> changed;
  for (const auto& [key, user_name] : model.meta)
    if (const std::string_view text = model.strings[key]; text.starts_with(changed_note))
      changed.emplace(text.substr(changed_note.size()), model.strings[user_name]);
  return changed;
}

std::string graph_input_name(const GraphModel& model, const std::string& user_name) {
  const auto found = name_in_graph(input_names_of(model), user_name, changed_names(model));
  return found.empty() ? user_name : found;
}

std::string graph_output_name(const GraphModel& model, const std::string& user_name) {
  const auto found = name_in_graph(output_names_of(model), user_name, changed_names(model));
  return found.empty() ? user_name : found;
}

std::vector<std::string> input_names_of(const GraphModel& model) {
  std::vector<std::string> names;
  for (const auto id : model.inputs) names.emplace_back(model.strings[model.values[id].name]);
  return names;
}

std::vector<std::string> output_names_of(const GraphModel& model) {
  std::vector<std::string> names;
  for (const auto& [name, value] : model.outputs) names.emplace_back(model.strings[name]);
  return names;
}

}  // namespace tenon
