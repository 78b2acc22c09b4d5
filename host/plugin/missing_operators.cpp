#include "plugin/missing_operators.hpp"

#include <algorithm>

#include "plugin/operator_name.hpp"

namespace tenon {
namespace {

std::string label(const MissingOperator& op) {
  return quoted_name(op.name) + (op.use.empty() ? "" : ' ' + op.use);
}

std::string searched_in(const Catalog& catalog) {
  std::string folders;
  for (const auto& folder : catalog.searched())
    folders += (folders.empty() ? "in " : ", ") + folder.string();
  return folders.empty() ? "no folder" : folders;
}

}  // namespace

Failure missing_operators(const Catalog& catalog, std::span<const MissingOperator> missing) {
  const auto& first = missing.front();
  if (const auto why = catalog.why_missing(first.name); missing.size() == 1 && !why.empty())
    return {FailureKind::plugin, "operator " + label(first) + " cannot be used: " + why,
            catalog.next_step(first.name)};
  const auto malformed = std::find_if(missing.begin(), missing.end(),
                                      [](const auto& op) { return !is_operator_name(op.name); });
  if (malformed != missing.end())
    return {FailureKind::plugin, "operator " + label(*malformed) +
                                     " cannot exist: a name is NAME or SPACE.NAME; each part has "
                                     "at most 128 letters, digits and "
                                     "underscores and does not begin with a digit"};
  std::string texts;
  std::vector<std::string> near;
  for (const auto& op : missing) {
    const auto why = catalog.why_missing(op.name);
    texts += (texts.empty() ? " " : ", ") + label(op) + (why.empty() ? "" : " (" + why + ")");
    for (auto& name : catalog.near(op.name)) near.push_back(std::move(name));
  }
  return {FailureKind::plugin,
          std::string("no plugin has the operator") + (missing.size() == 1 ? "" : "s") + texts +
              "; searched " + searched_in(catalog) + catalog.not_searched_text(),
          space_in(first.name) == application_space
              ? "the application must add its own operators before loading a graph that uses them: "
                "with host.add<T>() in C++, or by "
                "importing the module that defines them with @tenon.operator in Python"
              : did_you_mean(near, "add the folder of its plugin")};
}

}  // namespace tenon
