// Reads the rewrite rules of a manifest. Checks that depend on other operators' manifests happen
// when a session uses a rule.
#include <fmt/format.h>

#include <set>
#include <tenon/host/failure.hpp>

#include "plugin/discovery/manifest_readers.hpp"
#include "plugin/rewrite_rule.hpp"

namespace tenon {
namespace {

constexpr std::size_t max_rewrites = 64;

RewriteInfo read_rewrite(const JsonField& entry, std::set<std::string>& names) {
  RewriteInfo rule{identifier(entry["name"]), plain_text(entry["pattern"]),
                   plain_text(entry["replacement"]), entry["exact"].boolean()};
  if (!names.insert(rule.name).second)
    entry["name"].refuse("is '{}', which is also the name of an earlier rule", rule.name);
  std::string fault;
  try {
    parse_rule(rule);
  } catch (const Failure& failure) {
    fault = failure.what();
  }
  if (!fault.empty()) entry.refuse("is rule '{}': {}", rule.name, fault);
  return rule;
}

}  // namespace

void read_rewrites(const JsonField& root, OperatorInfo& info) {
  const auto list = root.find("rewrites");
  if (!list) return;
  if (list->size() > max_rewrites)
    list->refuse("has {} rules; at most {} are allowed", list->size(), max_rewrites);
  std::set<std::string> names;
  for (const auto& entry : list->list()) info.rewrites.push_back(read_rewrite(entry, names));
}

}  // namespace tenon
