// Whether a part of a graph is what a rule's pattern says, and what the rule's names then stand for.
#pragma once
#include <optional>
#include <tenon/host/attribute_map.hpp>
#include <vector>

#include "graph/rewrite/rewriting.hpp"

namespace tenon {

/// Reads the graph as it is now. After find(): what was found.
class RuleMatch {
 public:
  RuleMatch(const Rewriting& graph, const ResolvedRule& rule) : graph_(graph), model_(graph.model()), rule_(rule) {}

  /// At this node as the pattern's root.
  bool find(NodeId root);

  NodeId root() const { return nodes_.back(); }
  /// One for each call of the pattern.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  /// Of a variable: none where it is an input that is not connected.
  ValueId value(std::size_t variable) const { return *values_[variable]; }
  const AttributeValue& capture(std::size_t i) const { return *captures_[i]; }
  /// The parameters that `...` with this label stands for.
  Attributes rest(const std::string& label) const;

 private:
  bool may_match(NodeId root) const;
  bool match_call(std::size_t call, NodeId id, bool inner);
  bool match_results(const NodeRecord& node, bool inner) const;
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
