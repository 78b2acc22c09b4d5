// Inference over a whole graph, forwards and backwards, to a fixed point.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "graph/binding.hpp"
#include "graph/operator_inference.hpp"

namespace tenon {

/// The types of a graph's values: those in the model, or a plan's own copy. Neither may grow meanwhile.
class TypeTable {
 public:
  explicit TypeTable(std::vector<ValueRecord>& values) : values_(values.data()) {}
  explicit TypeTable(std::vector<tenon_type>& types) : types_(types.data()) {}
  tenon_type& operator[](ValueId value) const { return types_ != nullptr ? types_[value] : values_[value].type; }

 private:
  ValueRecord* values_ = nullptr;
  tenon_type* types_ = nullptr;
};

/// The types around a node; an input that is not connected has present = 0.
void gather_types(const GraphModel& model, const NodeRecord& node, const std::vector<tenon_type>& from, CallTypes& types);
void gather_types(const GraphModel& model, const NodeRecord& node, TypeTable from, CallTypes& types);
/// The same from the types that the graph itself has.
void gather_types(const GraphModel& model, const NodeRecord& node, CallTypes& types);

/// Runs a forward node's kernel on the CPU, for inference alone: `types` has the types around the node and the elements of its inputs, or
/// no elements where the kernel reads none. Returns the outputs; nothing where it cannot.
using Evaluate = std::function<std::vector<Tensor>(NodeId node, CallTypes& types)>;

/// Knowledge is only ever added, so the work ends: a value can change once for its dtype, its rank and each dimension.
class Inference {
 public:
  /// Elements of values that are no constants, as far as infer() may see them.
  using Elements = std::map<ValueId, const tenon_tensor*>;

  /// `only`: the nodes that count, where not all do.
  Inference(const GraphModel& model, const Binding& binding, TypeTable types, const std::vector<bool>* only = nullptr,
            const Elements* elements = nullptr, const Evaluate* evaluate = nullptr)
      : model_(model), binding_(binding), types_(types), only_(only), elements_(elements), evaluate_(evaluate) {}

  /// Every node, then again those whose values changed. Throws Failure (failed) with the node's label.
  void run();
  /// The same where no node has anything to tell of the types as they were before something became known of these values: nodes around
  /// which nothing changes are not asked again.
  void run_again(std::vector<bool> news);
  /// One node; what it learns about its inputs goes on to the rest of the graph. Where it throws, the types are as they were.
  void run_from(NodeId node);

  /// Unconnected inputs whose operator inferred a type, and that become a variable. (edge, type)
  const std::vector<std::pair<std::uint32_t, tenon_type>>& wanted() const { return wanted_; }

  /// Values of nodes whose elements infer() asked for, and which follow from shapes and from known elements alone.
  std::map<ValueId, Tensor> take_evaluated() { return std::move(evaluated_); }

  /// Inputs whose elements infer() asked for and was not given, of nodes whose outputs are not known.
  std::vector<std::pair<NodeId, ValueId>> unseen() const;

 private:
  void infer(NodeId node);
  const CallTypes& ask(NodeId node);
  void find_values(const NodeRecord& node, std::vector<const tenon_tensor*>& values) const;
  const tenon_tensor* elements_of(ValueId value) const;
  bool evaluate_wanted(const NodeRecord& node, const CallTypes& types);
  bool evaluate(ValueId value, int depth, std::set<ValueId>& failed);
  bool run_kernel(NodeId id, int depth, std::set<ValueId>& failed);
  void infer_backward(NodeId node);
  void agree(NodeId node, ValueId left, ValueId right);
  void learn(NodeId node, ValueId value, const tenon_type& type);
  bool may_tell(NodeId node) const;
  bool becomes_variable(NodeId node, std::uint32_t input) const;
  bool counts(NodeId node) const { return only_ == nullptr || (*only_)[node]; }
  void wake(NodeId node);
  void find_readers();
  void settle();
  void check_updates() const;

  const GraphModel& model_;
  const Binding& binding_;
  TypeTable types_;
  const std::vector<bool>* only_;
  const Elements* elements_;
  const Evaluate* evaluate_;
  std::map<ValueId, Tensor> evaluated_;
  CallTypes scratch_;
  /// Nodes that share an object often ask it the same.
  struct Answer {
    const Instance* from = nullptr;
    CallTypes asked, told;
  };
  std::vector<Answer> last_;  // of each operator, in run()
  std::vector<ValueId> changed_;
  std::vector<NodeId> queue_;
  std::vector<bool> queued_;
  std::vector<std::uint32_t> first_reader_;  // readers of value v: readers_[first_reader_[v] .. first_reader_[v + 1])
  std::vector<NodeId> readers_;
  std::vector<std::pair<std::uint32_t, tenon_type>> wanted_;
  std::vector<std::pair<ValueId, tenon_type>> before_;  // what run_from has changed
  bool remember_ = false;
  std::vector<bool> news_;  // of run_again: values of which more is known than before
  std::set<std::pair<NodeId, ValueId>> unseen_;
};

}  // namespace tenon
