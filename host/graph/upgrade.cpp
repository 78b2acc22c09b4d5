#include "graph/upgrade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/failure.hpp>

#include "graph/parameters.hpp"

namespace tenon {
namespace {

// Names change from version to version, so the rules apply in the order of their versions.
std::string current_name(std::string name, int stored, const OperatorInfo& info) {
  auto rules = info.renamed;
  std::stable_sort(rules.begin(), rules.end(), [](const auto& left, const auto& right) { return left.version < right.version; });
  for (const auto& rule : rules)
    if (rule.version > stored && rule.from == name) name = rule.to;
  return name;
}

}  // namespace

void upgrade(GraphModel& model, NodeRecord& node, int stored, const OperatorInfo& info) {
  if (stored > info.version)
    throw Failure(FailureKind::plugin,
                  fmt::format("was written for version {} of the operator, but version {} is installed", stored, info.version),
                  "install a newer version of the plugin");
  Attributes kept;
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model.attributes[node.first_attribute + i];
    kept.set(current_name(std::string(model.strings[record.name]), stored, info), value_of(model, record));
  }
  // parameters that came later are not among these and get their defaults, written out
  add_parameters(model, node, info, kept);
}

}  // namespace tenon
