// A graph as a session runs it: rules applied, repeated nodes joined, dead ones left out, constants in the place of what computes them.
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

/// What the session knows.
struct RewriteSetting {
  Optimize optimize = Optimize::full;
  const Device* device = nullptr;                ///< of nodes that name none
  const std::vector<Tensor>* tensors = nullptr;  ///< by value: elements of variables, states and constants
  const std::vector<bool>* stay = nullptr;       ///< by value: they are what they are for as long as the session lives
  const RuleSet* rules = nullptr;
  PluginSet* plugins = nullptr;
};

/// Copies the graph only where there is anything to do. Values keep their numbers, and new ones come behind them; nodes get new numbers in
/// finish(). For sessions that do not train. Threads: one at a time.
///
///     Rewriting rewriting(graph, setting);
///     if (!rewriting.begin()) return graph;
///     rewriting.apply_rules(), rewriting.join_repeated();
///     const auto part = rewriting.constant_part();
///     rewriting.set_constants(part, tensors);
///     return rewriting.finish();
class Rewriting {
 public:
  Rewriting(std::shared_ptr<const GraphSnapshot> from, const RewriteSetting& setting);

  /// Whether there is anything to do; linear in the graph.
  bool begin();
  void apply_rules();
  void join_repeated();
  /// The nodes that compute the same in each run, in their order, and those of their outputs that others read.
  struct ConstantPart {
    std::vector<NodeId> nodes;
    std::vector<ValueId> results;
  };
  ConstantPart constant_part();
  /// A tensor for each of the results; those without one stay as they are.
  void set_constants(const ConstantPart& part, const std::vector<Tensor>& tensors);
  std::shared_ptr<const GraphSnapshot> finish();

  const GraphModel& model() const { return *model_; }
  const Binding& binding() const { return *binding_; }

  // Of a value, what rules ask for.
  std::uint32_t uses(ValueId value) const { return uses_[value]; }
  bool is_output(ValueId value) const { return is_output_[value]; }
  bool is_constant(ValueId value) const { return constant_[value]; }
  /// Whether a node may be replaced: others refer to no such node, and nothing of it is known to this session alone.
  bool is_free(NodeId id) const;

 private:
  void count_uses();
  void find_constants(const std::vector<NodeId>& nodes);
  bool is_pure(NodeId id) const;
  bool may_vanish(NodeId id) const;
  bool computes_constant(NodeId id) const;
  bool fits_as_constant(const NodeRecord& node) const;
  std::uint64_t source_bytes(const NodeRecord& node) const;
  void mark_constant(NodeId id);
  bool is_computed_once(NodeId id) const { return bytes_.contains(model_->nodes[id].first_output); }
  bool stays(ValueId value) const;
  bool pinned_at(NodeId id) const { return id < pinned_.size() && pinned_[id]; }  // new nodes are not
  bool gone_at(NodeId id) const { return id < gone_.size() && gone_[id]; }
  bool any_dead() const;
  bool any_repeated() const;
  bool any_rule();
  void copy();
  ValueId now(ValueId value) const;
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
  ValueId make(const ResolvedRule& rule, const RuleMatch& match, std::vector<NodeId>& made);
  bool may_take_over(NodeId root, ValueId made, bool is_new) const;
  std::string joined_name(const std::vector<NodeId>& matched) const;

  std::shared_ptr<const GraphSnapshot> from_;
  RewriteSetting setting_;
  std::shared_ptr<GraphSnapshot> to_;  // once there is anything to do
  const GraphModel* model_;            // of from_, then of to_
  const Binding* binding_;

  std::vector<std::uint32_t> uses_;                            // of each value: by nodes
  std::vector<bool> is_output_, constant_;                     // of each value
  std::unordered_map<ValueId, std::uint64_t> bytes_;           // of what nodes make of constants alone: of those constants
  std::vector<bool> pinned_, gone_;                            // of each node: another one refers to it; it is replaced
  std::unordered_map<ValueId, ValueId> redirected_;            // values, and what is read instead
  std::unordered_map<NodeId, std::vector<NodeId>> after_;      // nodes, and those that rules put behind them
  std::unordered_map<NodeId, std::set<std::size_t>> made_by_;  // nodes, and the rules that led to them
  std::vector<std::vector<std::size_t>> rules_of_;             // of each operator of the model: the rules with this root
  std::set<int> files_;  // of the plugins whose operators the graph names, or a rule put there; -1: no plugin
};

}  // namespace tenon
