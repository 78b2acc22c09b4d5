#include "plugin/short_names.hpp"

#include <algorithm>

#include "plugin/operator_name.hpp"

namespace tenon {

void ShortNames::settle() {
  std::map<std::string, Claims> aliases;
  for (std::size_t i = 0; i < index_.operators.size(); ++i) {
    index_.names[info(i).name].operators.push_back(i);
    for (const auto& alias : info(i).aliases) aliases[alias][info(i).space].push_back(i);
  }
  for (const auto& [alias, claims] : aliases)
    for (const auto& [space, operators] : claims)
      if (const auto op = settle_alias(alias, space, operators); op != CatalogIndex::nowhere)
        index_.names[alias].operators.push_back(op);
  for (auto& [name, meaning] : index_.names) {
    auto& operators = meaning.operators;
    std::sort(operators.begin(), operators.end(),
              [&](auto left, auto right) { return info(left).space < info(right).space; });
    meaning.chosen = choose(operators);
    if (operators.size() > 1) index_.notes.push_back(note(name, meaning));
    if (operators.size() > 1) meaning.warning = warning(name, meaning);
  }
}

std::size_t ShortNames::settle_alias(const std::string& alias, const std::string& space,
                                     const std::vector<std::size_t>& claims) {
  const auto as_alias = [&](std::size_t op) {
    return "'" + alias + "' is an alias of operator '" + info(op).full_name() + "'";
  };
  const auto full = space.empty() ? alias : space + '.' + alias;
  if (winners_.contains(full) || index_.disputed.contains(full)) {
    for (const auto op : claims)
      index_.notes.push_back(as_alias(op) + " and the name of another operator: the name wins");
    return CatalogIndex::nowhere;
  }
  const auto layer_of = [&](std::size_t op) {
    return winners_.at(info(op).full_name()).rank.layer;
  };
  const auto latest = *std::max_element(claims.begin(), claims.end(),
                                        [&](auto a, auto b) { return layer_of(a) < layer_of(b); });
  bool clear = true;
  for (const auto op : claims) {
    if (op == latest) continue;
    const bool loses = layer_of(op) < layer_of(latest);
    clear = clear && loses;
    index_.notes.push_back(as_alias(op) + " and of operator '" + info(latest).full_name() +
                           "': it refers to " + (loses ? "the latter" : "neither"));
  }
  return clear ? latest : CatalogIndex::nowhere;
}

std::size_t ShortNames::choose(const std::vector<std::size_t>& operators) const {
  const auto chosen = sources_.choose(operators, preferred_, [&](auto op) {
    return std::pair(&info(op), index_.operators[op].file);
  });
  return chosen == operators.end() ? CatalogIndex::nowhere : *chosen;
}

std::string ShortNames::note(const std::string& name, const ShortName& meaning) const {
  std::string alternatives;
  for (const auto op : meaning.operators)
    if (op != meaning.chosen)
      alternatives += (alternatives.empty() ? "" : " and ") + info(op).full_name();
  const bool by_file = std::any_of(meaning.operators.begin(), meaning.operators.end(),
                                   [&](auto op) { return index_.operators[op].has_file_space(); });
  if (meaning.chosen == CatalogIndex::nowhere)
    return "'" + name + "' may refer to " + alternatives +
           ": use the full name, or prefer a plugin" +
           (by_file ? std::string("; ") + file_space_hint : "");
  return "'" + name + "' refers to " + info(meaning.chosen).full_name() +
         "; use the full name for " + alternatives + ", or prefer its plugin";
}

// Plugins in the default folders are installed for everyone and do not show what this user means.
std::string ShortNames::warning(const std::string& name, const ShortName& meaning) const {
  if (meaning.chosen == CatalogIndex::nowhere) return {};
  std::string alternatives;
  for (const auto op : meaning.operators) {
    const auto file = index_.operators[op].file;
    const auto is_preferred = [&](const std::string& word) {
      return sources_.is_preferred(info(op), file, word);
    };
    if (std::any_of(preferred_.begin(), preferred_.end(), is_preferred)) return {};
    const auto layer = winners_.at(info(op).full_name()).rank.layer;
    if (op == meaning.chosen || layer == 0 || layer == Rank::builtin_layer) continue;
    alternatives += (alternatives.empty() ? "" : " and ") + info(op).full_name() + " of " +
                    sources_.path_of(file);
  }
  if (alternatives.empty()) return {};
  return "'" + name + "' refers to " + info(meaning.chosen).full_name() + ", but " + alternatives +
         " also has that name: use the full name of the operator that you mean, or prefer its "
         "plugin";
}

}  // namespace tenon
