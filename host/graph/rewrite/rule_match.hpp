// Matches a rule's pattern against the graph and binds its variables.
#pragma once
#include <optional>
#include <tenon/host/attribute_map.hpp>
#include <vector>

#include "graph/rewrite/rewriting.hpp"

namespace tenon {

/// Reads the current graph. The accessors are valid after find() returned true.
class RuleMatch {
 public:
  RuleMatch(const Rewriting& graph, const ResolvedRule& rule)
      : graph_(graph), model_(graph.model()), rule_(rule) {}

  /// Tries to match with this node as the pattern's root.
  bool find(NodeId root);

  NodeId root() const { return nodes_.back(); }
  /// One node for each call of the pattern.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  /// Returns the value of a variable; none if it is bound to an unconnected input.
  ValueId value(std::size_t variable) const { return *values_[variable]; }
  const AttributeValue& capture(std::size_t i) const { return *captures_[i]; }
  /// Returns the parameters that the `...` with this label covers.
  Attributes rest(const std::string& label) const;

 private:
  bool may_match(NodeId root) const;
  /// Whether an inner call may have other readers: the rule says so, or the replacement computes
  /// nothing.
  bool may_share(std::size_t call) const {
    return rule_.rule.replacement.empty() || rule_.rule.pattern[call].shared;
  }
  bool match_call(std::size_t call, NodeId id, bool inner);
  bool match_results(const NodeRecord& node, bool sole_reader) const;
  bool match_params(std::size_t call, const NodeRecord& node);
  bool match_param(const RewriteRule::Param& param, const AttributeValue& value);
  bool match_inputs(std::size_t call, const NodeRecord& node);
  bool match_states(std::size_t call, const NodeRecord& node);
  bool match_operand(const RewriteRule::Operand& operand, ValueId value);
  bool match_variable(std::size_t variable, ValueId value);

  const Rewriting& graph_;
  const GraphModel& model_;
  const ResolvedRule& rule_;
  std::vector<NodeId> nodes_;
  std::vector<std::optional<ValueId>> values_;
  std::vector<std::optional<AttributeValue>> captures_;
};

}  // namespace tenon
