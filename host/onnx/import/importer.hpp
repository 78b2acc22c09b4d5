// From a model's nodes to a graph's.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tenon/host/failure.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/onnx.hpp>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "onnx/import/operand.hpp"
#include "onnx/import/placeholder.hpp"
#include "onnx/model.hpp"
#include "onnx/tensor_data.hpp"
#include "run/graph_impl.hpp"

namespace tenon::onnx {

class NodeImport;
class InnerGraph;

/// A node that cannot compute what the model says of it. In a branch that is not taken, that does not matter.
struct NodeFailure : Failure {
  explicit NodeFailure(const Failure& failure) : Failure(failure) {}
};

/// The part of the types of captured values that a graph in a node is read with.
enum class CapturedTypes { whole, ranks, dtypes };

/// Nodes become calls of operators on operands. Where all elements are known and there are few, the call is made at once, and its result is
/// a constant; otherwise it becomes a node. Threads: one.
class Importer {
 public:
  /// Both must outlive this.
  /// `may_wait`: nodes that need shapes which only a run knows may wait for them.
  Importer(Host& host, const Model& model, const ImportOptions& options, bool may_wait = true);
  /// For the graph of an attribute: names that it does not make are looked up outside. `outer` must outlive this.
  Importer(Importer& outer, const proto::Graph& graph);
  /// Once. Throws Failure: (file) for what the model says, (plugin) for operators that are missing, all at once.
  Graph import();

  using Named = std::vector<std::pair<std::string, Operand>>;
  /// All outputs of a call that are not hidden; `name` is the node's, and may be empty.
  std::vector<Operand> call(const std::string& op, const Named& inputs, const Attributes& attributes, std::string_view name);
  std::vector<Operand> call(const std::string& op, const std::vector<Operand>& inputs, const Attributes& attributes, std::string_view name);

  /// As far as it is known: elements, or what the graph infers.
  tenon_type type_of(const Operand& operand) const;
  /// The value in the graph: elements become a variable or a constant.
  ValueId value_of(Operand& operand);
  /// The node takes these elements as the state of this name.
  void state(std::string_view node, const std::string& state, const Tensor& elements);
  /// Taken by nobody; like `wanted`.
  std::string free_name(std::string_view wanted) const;

  /// Whether a tensor of the importer's own, of so many bytes, is still small beside the file; it then counts.
  bool may_make(std::int64_t bytes);
  bool may_make(const tenon_type& type);

  const Model& model() const { return model_; }
  bool is_inner() const { return outer_ != nullptr; }  ///< whether its graph is in a node of another one
  void note(const std::string& text);

 private:
  friend class NodeImport;
  friend class InnerGraph;
  using Scope = std::unordered_map<std::string_view, Operand>;
  /// What there is for nodes of one type, which is asked once.
  struct Kind {
    std::string name;                     // `my.ops::Foo`
    const std::string* mapped = nullptr;  // to which operator, by the user
    const proto::Function* function = nullptr;
    std::vector<OnnxClaim> claims{};
    void (*composition)(NodeImport&) = nullptr;
    const CatalogOperator* written = nullptr;    // in a domain of Tenon's own
    const CatalogOperator* same_name = nullptr;  // of custom domains
    bool noted = false;
  };

  std::vector<MissingOperator> really_missing() const;
  void find_read();
  void choose_names();
  void import_inputs();
  Tensor as_declared(const proto::ValueInfo& input, const Tensor& elements);
  void import_node(const proto::Node& node);
  void import_function(NodeImport& node, const proto::Function& function);
  /// False: no form fits. `refusal`: that of the operator whose form does.
  bool by_plugin(NodeImport& node, std::optional<Failure>& refusal);
  bool by_name(NodeImport& node);
  void import_as(NodeImport& node, const std::string& op);
  void import_as(NodeImport& node, const OperatorInfo& info);
  const OnnxForm& own_form(NodeImport& node, const OperatorInfo& info);
  Kind& kind_of(const proto::Node& node, std::int64_t version);
  const LoadedOperator& loaded(const std::string& op);
  void keep(NodeImport& node);  // as it is written
  /// Until the shapes of its inputs are known. False: they are known, or the node is refused for all shapes.
  bool wait(NodeImport& node);
  DType likely_dtype(NodeImport& node, std::string_view output);
  bool follows_kept(const proto::Node& node);
  tenon_type type_said_of(std::string_view name) const;
  /// In a function, what the calling node or the function says; null: neither.
  const proto::Attribute* resolved(const proto::Attribute& attribute) const;
  Operand& find(std::string_view name);
  Operand* find_or_read(std::string_view name);
  void define(std::string_view name, Operand operand);
  bool same_type(ValueId value, const Tensor& elements) const;
  std::string told_name(std::string_view what, std::string_view name);
  std::string chosen_name(std::string_view name) const;
  bool may_compute(const OperatorInfo& info, std::span<const Operand* const> inputs) const;
  bool may_compute(const LoadedOperator& op, const std::vector<Tensor>& inputs, const Attributes& attributes);
  Tensor elements_of(const proto::Tensor& tensor, std::string_view name);
  void charge_inlined(const NodeImport& node, const proto::Function& function);
  std::vector<Operand> compute(const std::string& op, const std::vector<Tensor>& inputs, const Attributes& attributes);
  std::vector<Operand> add_node(NodeSpec spec, std::string_view name);

  Operand* find_outside(std::string_view name);
  ValueId captured(const Operand& outside);
  void lend(Importer& other);
  std::vector<Operand> import_inside(const proto::Graph& graph, const std::vector<Operand>& inputs);

  Host& host_;
  const Model& model_;
  const ImportOptions& options_;
  const Catalog catalog_;
  TensorReader tensors_;
  Graph graph_;
  GraphBuilder builder_;
  Placeholders placeholders_;
  Scope scope_;
  std::unordered_map<std::string_view, const proto::Tensor*> initializers_;  // not read yet
  std::unordered_map<std::string_view, const proto::SparseTensor*> sparse_initializers_;
  std::map<std::string_view, std::string> changed_names_;  // of inputs, initializers and outputs whose names no graph can have
  std::unordered_set<std::string> reserved_names_;         // of inputs and initializers: nodes get others
  std::set<std::string> missing_;                          // operators, as they are found
  std::map<std::tuple<std::string_view, std::string_view, std::string_view, std::int64_t>, Kind> kinds_;
  std::unordered_map<std::string, const LoadedOperator*> loaded_;
  std::unordered_map<const OperatorInfo*, std::deque<OnnxForm>> own_forms_;  // of nodes that are written as the operator is
  std::set<std::string> notes_;
  std::unordered_set<std::string_view> read_;  // values that a node reads or a graph returns, in any graph
  std::size_t inlined_ = 0;                    // nodes of functions, and what stands in them
  std::size_t made_ = 0;                       // bytes of tensors that no file has
  std::unordered_map<const proto::Function*, std::size_t> function_sizes_;
  std::unordered_map<const proto::Tensor*, Tensor> attribute_tensors_;
  const proto::Function* function_ = nullptr;                           // whose nodes are imported
  std::map<std::string_view, const proto::Attribute*> arguments_;       // of that function
  std::unordered_map<const void*, std::pair<ValueId, Tensor>> placed_;  // elements that the graph has, which keep their place
  CapturedTypes captured_types_ = CapturedTypes::whole;
  const bool may_wait_ = true;
  Importer* const outer_ = nullptr;                    // of the graph in whose node this one's is
  const proto::Function* const home_ = nullptr;        // the function that has that node
  std::vector<std::pair<ValueId, ValueId>> captures_;  // values of the outer graph, and inputs that stand for them
  std::unordered_map<ValueId, ValueId> captured_;      // the same, to be found
};

}  // namespace tenon::onnx
