// Type inference over a whole graph, forward and backward, to a fixed point.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "graph/binding.hpp"
#include "graph/inference/operator_inference.hpp"

namespace tenon {

/// The types of a graph's values: those in the model, or a plan's own copy. The underlying vector
/// must not be resized while in use.
class TypeTable {
 public:
  explicit TypeTable(std::vector<ValueRecord>& values) : values_(values.data()) {}
  explicit TypeTable(std::vector<tenon_type>& types) : types_(types.data()) {}
  tenon_type& operator[](ValueId value) const {
    return types_ != nullptr ? types_[value] : values_[value].type;
  }

 private:
  ValueRecord* values_ = nullptr;
  tenon_type* types_ = nullptr;
};

/// Collects the types around a node; an input that is not connected has present = 0.
void gather_types(const GraphModel& model, const NodeRecord& node,
                  const std::vector<tenon_type>& from, CallTypes& types);
void gather_types(const GraphModel& model, const NodeRecord& node, TypeTable from,
                  CallTypes& types);
/// Uses the types stored in the graph.
void gather_types(const GraphModel& model, const NodeRecord& node, CallTypes& types);

/// Runs a forward node's kernel on the CPU during inference. `types` holds the types around the
/// node and the elements of its inputs, or no elements if the kernel reads none. Returns the
/// outputs; empty if the kernel cannot be run.
using Evaluate = std::function<std::vector<Tensor>(NodeId node, CallTypes& types)>;

/// Known facts are only ever added, so inference terminates: a value changes at most once for its
/// dtype, its rank and each dimension.
class Inference {
 public:
  /// Elements of values other than constants that infer() may read.
  using Elements = std::map<ValueId, const tenon_tensor*>;

  /// `only`: the nodes to consider; null: all.
  Inference(const GraphModel& model, const Binding& binding, TypeTable types,
            const std::vector<bool>* only = nullptr, const Elements* elements = nullptr,
            const Evaluate* evaluate = nullptr)
      : model_(model),
        binding_(binding),
        types_(types),
        only_(only),
        elements_(elements),
        evaluate_(evaluate) {}

  /// Visits every node, then repeatedly those whose values changed. Throws Failure (failed) with
  /// the node's label.
  void run();
  /// Continues a finished inference after more became known about the values marked in `news`.
  /// Nodes with no such values around them are not visited.
  void run_again(std::vector<bool> news);
  /// Infers one node and propagates what it learns about its inputs through the graph. If it
  /// throws, the types are unchanged.
  void run_from(NodeId node);

  /// Unconnected inputs that become variables because their operator inferred a type, as (edge,
  /// type).
  const std::vector<std::pair<std::uint32_t, tenon_type>>& implicit_variables() const {
    return implicit_variables_;
  }

  /// Values whose elements infer() requested and that were computed from shapes and known elements.
  std::map<ValueId, Tensor> take_evaluated() { return std::move(evaluated_); }

  /// Constants whose elements infer() or a kernel has read.
  const std::set<ValueId>& read_constants() const { return read_constants_; }
  /// Those without which less would be known about types. Call after a run.
  std::set<ValueId> determining_constants() const;
  /// The previous types of values that no node produces and about which it learned.
  const std::map<ValueId, tenon_type>& declared_types() const { return declared_types_; }

  /// Inputs of nodes with unknown outputs whose elements infer() requested but did not get.
  std::vector<std::pair<NodeId, ValueId>> missing_elements() const;

 private:
  void infer(NodeId node);
  const CallTypes& infer_call(NodeId node);
  void find_values(const NodeRecord& node, std::vector<const tenon_tensor*>& values) const;
  const tenon_tensor* elements_of(ValueId value) const;
  void note_read(ValueId value);
  bool follow_from_elements(NodeId node) const;
  bool evaluate_requested(const NodeRecord& node, const CallTypes& types);
  bool evaluate(ValueId value, int depth, std::set<ValueId>& failed);
  bool run_kernel(NodeId id, int depth, std::set<ValueId>& failed);
  void infer_backward(NodeId node);
  void agree(NodeId node, ValueId left, ValueId right);
  void learn(NodeId node, ValueId value, const tenon_type& type);
  bool may_add_types(NodeId node) const;
  bool is_implicit_variable(NodeId node, std::uint32_t input) const;
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
  std::set<ValueId> read_constants_;
  std::set<NodeId> readers_of_elements_;
  std::map<ValueId, tenon_type> declared_types_;
  CallTypes scratch_;
  /// The last request of a node to an object: nodes that share one often repeat it.
  struct Answer {
    const Instance* from = nullptr;
    CallTypes request, result;
  };
  std::vector<Answer> last_;  // one for each operator, in run()
  std::vector<ValueId> changed_;
  std::vector<NodeId> queue_;
  std::vector<bool> queued_;
  std::vector<std::uint32_t>
      first_reader_;  // readers of value v: readers_[first_reader_[v] .. first_reader_[v + 1])
  std::vector<NodeId> readers_;
  std::vector<std::pair<std::uint32_t, tenon_type>> implicit_variables_;
  // the previous types, for rollback in run_from()
  std::vector<std::pair<ValueId, tenon_type>> before_;
  bool remember_ = false;
  std::vector<bool> news_;  // run_again(): values about which more is known than before
  std::set<std::pair<NodeId, ValueId>> missing_elements_;
};

}  // namespace tenon
