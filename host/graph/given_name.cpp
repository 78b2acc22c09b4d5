#include "graph/given_name.hpp"

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
std::string own_name(const std::vector<std::string>& names, const std::string& given,
                     const std::map<std::string, std::string>& changed) {
  const auto has = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (has(given)) return given;
  const auto allowed = allowed_name(given);
  if (allowed == given) return {};
  for (const auto& [own, theirs] : changed)
    if (theirs == given) return has(own) ? own : std::string();
  const auto stands_for = [&](const std::string& name) {
    if (name == allowed) return true;
    if (!name.starts_with(allowed + '_') || name.size() == allowed.size() + 1) return false;
    return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(allowed.size()) + 1, name.end(),
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  const auto found = std::find_if(names.begin(), names.end(), stands_for);
  return found == names.end() || std::find_if(found + 1, names.end(), stands_for) != names.end()
             ? std::string()
             : *found;
}

constexpr std::string_view changed_note = "name in the model of ";

void note_changed_name(GraphModel& model, const std::string& name, std::string_view given) {
  model.meta.emplace_back(model.strings.intern(std::string(changed_note) + name),
                          model.strings.intern(given));
}

std::map<std::string, std::string> changed_names(const GraphModel& model) {
  std::map<std::string, std::string> changed;
  for (const auto& [key, given] : model.meta)
    if (const std::string_view text = model.strings[key]; text.starts_with(changed_note))
      changed.emplace(text.substr(changed_note.size()), model.strings[given]);
  return changed;
}

std::string own_input_name(const GraphModel& model, const std::string& given) {
  const auto own = own_name(input_names_of(model), given, changed_names(model));
  return own.empty() ? given : own;
}

std::string own_output_name(const GraphModel& model, const std::string& given) {
  const auto own = own_name(output_names_of(model), given, changed_names(model));
  return own.empty() ? given : own;
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
