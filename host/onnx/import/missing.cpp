#include "onnx/import/missing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tenon/host/failure.hpp>
#include <tenon/host/udf.hpp>
#include <tuple>

#include "io/counted.hpp"
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

std::string kind_of(const proto::Node& node) {
  return fmt::format("{}{}{}", node.domain, node.domain.empty() ? "" : "::", node.type);
}

/// Looks up each operator once, counting all nodes that the graph needs.
class Search {
 public:
  Search(const Catalog& catalog, const Model& model, const ImportOptions& options)
      : catalog_(catalog), model_(model), options_(options) {}

  std::vector<MissingOperator> run() {
    add(model_.graph.nodes, model_.opset_imports);
    while (!pending_.empty()) {
      const auto* function = pending_.back();
      pending_.pop_back();
      add(function->nodes, function->opset_imports);
    }
    std::vector<MissingOperator> all;
    for (auto& [key, missing] : missing_) all.push_back(std::move(missing));
    return all;
  }

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::int64_t>;
  enum class Known : std::uint8_t { no, yes, by_name };  // by_name: decided per node

  void add(List<proto::Node> nodes, List<proto::OpsetImport> imports) {
    for_each_node(nodes, [&](const proto::Node& node) {
      const Key key(node.domain, node.type, node.overload, version_of(node, imports));
      auto [entry, is_new] = known_.try_emplace(key, Known::no);
      if (is_new) entry->second = find(node, std::get<3>(key));
      if (entry->second == Known::yes ||
          (entry->second == Known::by_name && find_by_name(catalog_, node) != nullptr))
        return;
      if (const auto found = missing_.find(key); found != missing_.end())
        ++found->second.op.count;
      else
        missing_.emplace(key, missing(node, std::get<3>(key)));
    });
  }

  // In the same order as the importer.
  Known find(const proto::Node& node, std::int64_t version) {
    if (options_.map.contains(kind_of(node))) return Known::yes;
    const auto* function = model_.function(node.domain, node.type, node.overload);
    const bool claimed =
        !catalog_.find_onnx(node.domain, node.type, static_cast<int>(version)).empty() ||
        find_composition(node.domain, node.type, version) != nullptr ||
        find_exported(catalog_, node) != nullptr;
    if (function != nullptr && (!claimed || options_.prefer_functions))
      pending_.push_back(function);
    return claimed || function != nullptr ? Known::yes : Known::by_name;
  }

  // Other versions in which the operator is supported.
  std::string other_versions(const proto::Node& node, std::int64_t version) const {
    if (version == 0) return "the model imports no opset for its domain";
    for (const auto& op : catalog_.operators())
      for (const auto& form : op.info.onnx) {
        if (form.type != node.type || (form.domain == "ai.onnx" ? "" : form.domain) != node.domain)
          continue;
        if (form.since > version)
          return fmt::format("{} supports it from version {} on, but this is version {}",
                             op.full_name(), form.since, version);
        return fmt::format("{} supports it up to version {}, but this is version {}",
                           op.full_name(), form.until.value_or(form.since), version);
      }
    const auto since = first_composition(node.domain, node.type);
    return since == 0 ? ""
                      : fmt::format("it is supported from version {} on, but this is version {}",
                                    since, version);
  }

  MissingOperator missing(const proto::Node& node, std::int64_t version) const {
    const auto name = internal::snake_case(node.type);
    MissingOperator made{
        .op = {std::string(node.domain), std::string(node.type), std::string(node.overload),
               version, 1, std::string(node.name), false},
        .why = other_versions(node, version),
        .near = {},
        .next_step = {}};
    if (const auto* same = catalog_.find(name);
        made.why.empty() && same != nullptr && !node.domain.empty())
      made.why = fmt::format("{} has the same name, but {}", same->full_name(),
                             name_mismatch(same->info, node));
    if (made.why.empty())
      made.why = catalog_.why_missing(name), made.next_step = catalog_.next_step(name);
    if (made.why.empty()) made.near = catalog_.near(name);
    return made;
  }

  const Catalog& catalog_;
  const Model& model_;
  const ImportOptions& options_;
  std::map<Key, MissingOperator> missing_;
  std::map<Key, Known> known_;
  std::vector<const proto::Function*> pending_;
};

}  // namespace

std::int64_t version_of(const proto::Node& node, List<proto::OpsetImport> imports) {
  for (const auto& import : imports)
    if (import.domain == node.domain) return import.version;
  return node.domain.empty() ? 0 : 1;
}

std::string name_mismatch(const OperatorInfo& info, const proto::Node& node) {
  if (node.inputs.size() > info.inputs.size() && !info.variadic())
    return fmt::format("takes {}, but a node has {}", counted(info.inputs.size(), "input"),
                       node.inputs.size());
  for (const auto& attribute : node.attributes)
    if (info.find_param(attribute.name) < 0)
      return fmt::format("has no parameter '{}'", attribute.name);
  return {};
}

const CatalogOperator* find_exported(const Catalog& catalog, const proto::Node& node) {
  constexpr std::string_view own = "tenon";
  if (node.domain == own) return catalog.find(fmt::format("{}.{}", own, node.type));
  if (!node.domain.starts_with("tenon.")) return nullptr;
  return catalog.find(fmt::format("{}.{}", node.domain.substr(own.size() + 1), node.type));
}

const CatalogOperator* find_by_name(const Catalog& catalog, const proto::Node& node) {
  const auto* found = node.domain.empty() ? nullptr : catalog.find(internal::snake_case(node.type));
  return found != nullptr && name_mismatch(found->info, node).empty() ? found : nullptr;
}

std::vector<MissingOperator> missing_operators(const Catalog& catalog, const Model& model,
                                               const ImportOptions& options) {
  return Search(catalog, model, options).run();
}

std::string describe(const MissingOperator& missing) {
  auto text = counted(missing.op.count, "node");
  if (missing.op.first_node.empty())
    text += missing.op.count == 1 ? " without a name" : ", the first one unnamed";
  else
    text +=
        fmt::format("{} '{}'", missing.op.count == 1 ? "" : ", the first", missing.op.first_node);
  if (!missing.why.empty()) text += "; " + missing.why;
  if (!missing.near.empty())
    text += fmt::format("; similar {}: {}", missing.near.size() == 1 ? "operator" : "operators",
                        fmt::join(missing.near, ", "));
  return text;
}

Failure refuse_missing(const Catalog& catalog, const Model& model,
                       const std::vector<MissingOperator>& missing, bool keep_unknown) {
  std::vector<std::string> list;
  std::string hint;
  if (keep_unknown)
    hint =
        "unknown nodes inside If, Loop and Scan cannot be kept, because their subgraphs must be "
        "able to run";
  for (const auto& one : missing) {
    list.push_back(fmt::format("{} ({})", one.op.full_name(), describe(one)));
    if (hint.empty()) hint = one.next_step;
  }
  if (hint.empty())
    hint =
        "add the folder of a plugin whose operator declares op.onnx(domain, type), or name the "
        "operator that computes such nodes";
  std::vector<std::string> folders;
  for (const auto& folder : catalog.searched()) folders.push_back(folder.string());
  return {FailureKind::plugin,
          fmt::format("{}: {} missing: {}; searched {}{}", model.path.string(),
                      missing.size() == 1 ? "an operator is" : "operators are", listed(list, "; "),
                      folders.empty() ? "no folder" : "in " + listed(folders),
                      catalog.not_searched_text()),
          hint};
}

}  // namespace tenon::onnx
