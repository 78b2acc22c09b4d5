// Graph optimization in a session: rewrite rules, common subexpression elimination, dead node
// elimination and constant folding.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <tenon/host/optimize.hpp>
#include <tenon/host/tensor.hpp>
#include <unordered_map>
#include <vector>

#include "device/device.hpp"
#include "graph/rewrite/rule_set.hpp"
#include "graph/snapshot.hpp"

namespace tenon {

class RuleMatch;

/// Properties of the session that decide how its graph is rewritten.
struct RewriteSetting {
  Optimize optimize = Optimize::full;
  const Device* device = nullptr;  ///< device of nodes that name none
  const std::vector<Tensor>* tensors =
      nullptr;  ///< by value: elements of variables, states and constants
  const std::vector<bool>* unchanging =
      nullptr;  ///< by value: whether it never changes during the session
  const RuleSet* rules = nullptr;
  PluginSet* plugins = nullptr;
};

/// Copies the graph only if something changes. Values keep their numbers and new ones follow; nodes
/// are renumbered by finish(). For sessions that do not train. Not thread-safe.
///
///     Rewriting rewriting(graph, setting);
///     if (!rewriting.begin()) return graph;
///     rewriting.apply_rules(), rewriting.eliminate_common_subexpressions();
///     const auto subgraph = rewriting.constant_subgraph();
///     rewriting.set_constants(subgraph, tensors);
///     return rewriting.finish();
class Rewriting {
 public:
  Rewriting(std::shared_ptr<const GraphSnapshot> from, const RewriteSetting& setting);

  /// Returns whether anything can be optimized, in time linear in the graph.
  bool begin();
  void apply_rules();
  void eliminate_common_subexpressions();
  /// The nodes that compute the same in every run, in order, and those of their outputs that other
  /// nodes read.
  struct ConstantSubgraph {
    std::vector<NodeId> nodes;
    std::vector<ValueId> results;
  };
  ConstantSubgraph constant_subgraph();
  /// `tensors`: one for each of subgraph.results; results without a tensor are left alone.
  void set_constants(const ConstantSubgraph& subgraph, const std::vector<Tensor>& tensors);
  std::shared_ptr<const GraphSnapshot> finish();

  const GraphModel& model() const { return *model_; }
  const Binding& binding() const { return *binding_; }

  // Queries for rules.
  std::uint32_t uses(ValueId value) const { return uses_[value]; }
  bool is_output(ValueId value) const { return is_output_[value]; }
  bool is_constant(ValueId value) const { return constant_[value]; }
  /// Whether it is a constant whose only element is this number, or the nearest one of its dtype.
  bool is_number(ValueId value, double number) const;
  /// Whether a node may be replaced: it is a forward node, no other node refers to it, and its
  /// object is not the application's.
  bool is_free(NodeId id) const;

 private:
  void count_uses();
  void find_constants(const std::vector<NodeId>& nodes);
  bool is_pure(NodeId id) const;
  bool may_be_removed(NodeId id) const;
  bool computes_constant(NodeId id) const;
  bool fits_as_constant(const NodeRecord& node) const;
  std::uint64_t source_bytes(const NodeRecord& node) const;
  void mark_constant(NodeId id);
  bool is_computed_once(NodeId id) const { return bytes_.contains(model_->nodes[id].first_output); }
  bool is_unchanging(ValueId value) const;
  // false for new nodes
  bool pinned_at(NodeId id) const { return id < pinned_.size() && pinned_[id]; }
  bool removed_at(NodeId id) const { return id < removed_.size() && removed_[id]; }
  bool any_dead() const;
  bool any_common_subexpression() const;
  bool any_rule();
  void copy();
  ValueId current_value(ValueId value) const;
  void redirect(ValueId from, ValueId to);
  void update_edges(NodeId id);
  void drop(NodeId id);
  std::vector<NodeId> order() const;
  void note(NodeId id, const std::string& how);
  std::vector<bool> needed_nodes(const std::vector<NodeId>& order) const;
  void renumber(const std::vector<NodeId>& order, const std::vector<bool>& needed);

  // rule_use.cpp
  const std::vector<std::size_t>& rules_at(NodeId id);
  bool matches_any(NodeId id);
  struct Applied;
  Applied apply_at(NodeId id, NodeId position);
  bool apply(std::size_t rule, const RuleMatch& match, NodeId position, Applied& applied);
  bool loses_broadcast(const ResolvedRule& rule, const RuleMatch& match) const;
  ValueId build_replacement(const ResolvedRule& rule, const RuleMatch& match,
                            std::vector<NodeId>& added);
  bool may_replace_root(NodeId root, ValueId added, bool is_new) const;
  std::string joined_name(const std::vector<NodeId>& matched) const;

  std::shared_ptr<const GraphSnapshot> from_;
  RewriteSetting setting_;
  std::shared_ptr<GraphSnapshot> to_;  // null until the first change
  const GraphModel* model_;            // of from_, then of to_
  const Binding* binding_;

  std::vector<std::uint32_t> uses_;         // of each value: number of readers
  std::vector<bool> is_output_, constant_;  // of each value
  // outputs of nodes that depend only on constants -> bytes of those constants
  std::unordered_map<ValueId, std::uint64_t> bytes_;
  std::vector<bool> pinned_, removed_;  // of each node: another one refers to it; it is replaced
  // values -> values that are read instead
  std::unordered_map<ValueId, ValueId> redirected_;
  // nodes -> nodes that rules inserted after them
  std::unordered_map<NodeId, std::vector<NodeId>> after_;
  std::unordered_map<NodeId, std::set<std::size_t>>
      created_by_;  // nodes -> rules that created them
  std::vector<std::vector<std::size_t>>
      rules_of_;         // of each operator of the model: the rules with this root
  std::set<int> files_;  // plugins whose operators the graph uses or rules inserted; -1: no plugin
};

}  // namespace tenon
