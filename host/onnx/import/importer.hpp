// Imports a model's nodes into a graph.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tenon/host/failure.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/tensor.hpp>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "graph/model.hpp"
#include "onnx/import/placeholder.hpp"
#include "onnx/import/text_values.hpp"
#include "onnx/model.hpp"
#include "onnx/tensor_data.hpp"
#include "run/graph_impl.hpp"

namespace tenon::onnx {

/// A value of the graph under construction, elements that no node has needed yet, or both. Cheap to
/// copy.
struct Operand {
  ValueId value = none;
  Tensor elements{};               ///< set if they are known and small, or of an initializer
  std::string_view initializer{};  ///< name of the initializer, which the graph's value gets
  SharedNames names{};             ///< set for texts: the elements are int64 indices of these
  /// Set for a sequence, which exists during import only.
  std::shared_ptr<const std::vector<Operand>> sequence{};

  /// Whether it is an omitted input, or an optional without an element.
  bool empty() const { return value == none && !elements && sequence == nullptr; }
  bool is_tensor() const { return !empty() && sequence == nullptr; }
  bool known() const { return static_cast<bool>(elements); }
};

class NodeImport;
class SubgraphImport;

/// Thrown for a node that cannot be computed as the model declares it; harmless in a branch that is
/// not taken.
struct NodeFailure : Failure {
  explicit NodeFailure(const Failure& failure) : Failure(failure) {}
};

/// How much of the captured values' types is used when a subgraph is imported.
enum class CapturedTypes { whole, ranks, dtypes };

/// Converts nodes to operator calls on operands. If all elements are known and few, the call is
/// evaluated at once and its result is a constant; otherwise it becomes a node. Not thread-safe.
class Importer {
 public:
  /// `host` and `model` must outlive this object.
  /// `may_defer`: nodes that need shapes known only at run time may become onnx_node.
  Importer(Host& host, const Model& model, const ImportOptions& options, bool may_defer = true);
  /// Imports the subgraph of an attribute: names that it does not define are looked up in `outer`,
  /// which must outlive this.
  Importer(Importer& outer, const proto::Graph& graph);
  /// Call once. Throws Failure (file) if the model is invalid, and Failure (plugin) naming all
  /// missing operators.
  Graph import();

  using Named = std::vector<std::pair<std::string, Operand>>;
  /// Calls an operator and returns its visible outputs. `name` is the node's name, and may be
  /// empty.
  std::vector<Operand> call(const std::string& op, const Named& inputs,
                            const Attributes& attributes, std::string_view name);
  std::vector<Operand> call(const std::string& op, const std::vector<Operand>& inputs,
                            const Attributes& attributes, std::string_view name);

  /// As far as it is known: from the elements, or as inferred in the graph.
  tenon_type type_of(const Operand& operand) const;
  /// The operand's value in the graph; elements become a variable or a constant.
  ValueId value_of(Operand& operand);
  /// Sets the elements of a node's state with this name.
  void state(std::string_view node, const std::string& state, const Tensor& elements);
  /// An unused name similar to `base`.
  std::string free_name(std::string_view base) const;

  /// Whether a tensor of this many bytes, created by the importer, is still within the limit for
  /// the file; if so, it is counted.
  bool may_make(std::int64_t bytes);
  bool may_make(const tenon_type& type);

  const Model& model() const { return model_; }
  bool is_inner() const { return outer_ != nullptr; }  ///< whether it imports a subgraph
  void note(const std::string& text);

 private:
  friend class NodeImport;
  friend class SubgraphImport;
  using Scope = std::unordered_map<std::string_view, Operand>;
  /// How nodes of one type are computed; determined once per type.
  struct Kind {
    std::string name;                     // `my.ops::Foo`
    const std::string* mapped = nullptr;  // the operator the user mapped it to
    const proto::Function* function = nullptr;
    std::vector<OnnxClaim> claims{};
    void (*composition)(NodeImport&) = nullptr;
    const CatalogOperator* exported = nullptr;   // the operator of a node that Tenon exported
    const CatalogOperator* same_name = nullptr;  // for custom domains
    bool noted = false;
  };

  std::vector<MissingOperator> really_missing() const;
  void collect_reads();
  void choose_names();
  void import_inputs();
  void import_outputs();
  enum class DimNames { set, dropped };
  Operand input_tensor(const std::string& name, const std::string& graph_name,
                       const proto::Type* declared, std::map<std::string, Shape>& shapes,
                       DimNames dim_names = DimNames::set);
  Operand input_sequence(std::string_view name, const proto::Type& type,
                         std::map<std::string, std::int64_t>& lengths,
                         std::map<std::string, Shape>& shapes);
  /// Refuses sequences and optionals without an element.
  void require_tensor(const Operand& operand) const;
  void name_inputs();
  Tensor as_declared(const proto::ValueInfo& input, const Tensor& elements);
  void import_node(const proto::Node& node);
  void import_function(NodeImport& node, const proto::Function& function);
  /// Returns false if no form fits. `refusal` receives the error of the operator whose form does.
  bool by_plugin(NodeImport& node, std::optional<Failure>& refusal);
  bool by_name(NodeImport& node);
  void import_as(NodeImport& node, const std::string& op);
  void import_as(NodeImport& node, const OperatorInfo& info);
  const OnnxForm& own_form(NodeImport& node, const OperatorInfo& info);
  Kind& kind_of(const proto::Node& node, std::int64_t version);
  const LoadedOperator& loaded(const std::string& op);
  void keep_as_placeholder(NodeImport& node);
  /// Defers the node until the shapes of its inputs are known. Returns false if they are known
  /// already, or if the node is rejected for all shapes.
  bool defer(NodeImport& node);
  DType likely_dtype(NodeImport& node, std::string_view output);
  bool reads_placeholder(const proto::Node& node);
  void refuse_sequences(NodeImport& node);
  bool reads_sequence(const proto::Node& node);
  tenon_type declared_type(std::string_view name) const;
  /// Inside a function, the value of the calling node or the function's default; null if there is
  /// neither.
  const proto::Attribute* resolved(const proto::Attribute& attribute) const;
  SharedNames names_of_inputs(NodeImport& node);
  SharedNames names_of_output(std::string_view name);
  /// An initializer; strings become indices.
  Operand read(const proto::Tensor& tensor, std::string_view name);
  void name_categories(ValueId value, const TextNames& names);
  Operand& find(std::string_view name);
  Operand* find_or_read(std::string_view name);
  void define(std::string_view name, Operand operand);
  bool same_type(ValueId value, const Tensor& elements) const;
  std::string graph_name(std::string_view what, std::string_view name);
  std::string chosen_name(std::string_view name) const;
  bool may_compute(const OperatorInfo& info, std::span<const Operand* const> inputs) const;
  bool may_compute(const LoadedOperator& op, const std::vector<Tensor>& inputs,
                   const Attributes& attributes);
  Tensor elements_of(const proto::Tensor& tensor, std::string_view name);
  void charge_inlined(const NodeImport& node, const proto::Function& function);
  void charge_inlined(const NodeImport& node, std::size_t weight, const char* what);
  std::vector<Operand> compute(const std::string& op, const std::vector<Tensor>& inputs,
                               const Attributes& attributes);
  std::vector<Operand> add_node(NodeSpec spec, std::string_view name);

  Operand* find_outside(std::string_view name);
  ValueId captured(const Operand& outside);
  void swap_shared_state(Importer& other);
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
  // inputs, initializers and outputs whose names a graph does not allow
  std::map<std::string_view, std::string> changed_names_;
  std::unordered_set<std::string> reserved_names_;  // of inputs and initializers; nodes avoid them
  std::set<std::string> missing_;                   // missing operators, in the order found
  std::map<std::tuple<std::string_view, std::string_view, std::string_view, std::int64_t>, Kind>
      kinds_;
  std::unordered_map<std::string, const LoadedOperator*> loaded_;
  // for nodes that match an operator's own signature
  std::unordered_map<const OperatorInfo*, std::deque<OnnxForm>> own_forms_;
  std::set<std::string> notes_;
  TextValues texts_;  // of the main graph
  std::vector<std::pair<ValueId, SharedNames>> text_inputs_;
  // values read by a node or returned by a graph, including subgraphs
  std::unordered_set<std::string_view> read_;
  std::size_t inlined_ = 0;  // nodes of expanded functions, plus the weight of their contents
  std::size_t made_ = 0;     // bytes of tensors that are in no file
  std::unordered_map<const proto::Function*, std::size_t> function_sizes_;
  std::unordered_map<const proto::Tensor*, Tensor> attribute_tensors_;
  const proto::Function* function_ = nullptr;                      // being imported
  std::map<std::string_view, const proto::Attribute*> arguments_;  // of that function
  // values by the address of their elements, which are kept alive
  std::unordered_map<const void*, std::pair<ValueId, Tensor>> values_by_address_;
  CapturedTypes captured_types_ = CapturedTypes::whole;
  const bool may_defer_ = true;
  Importer* const outer_ = nullptr;              // of the enclosing graph, for a subgraph
  const proto::Function* const home_ = nullptr;  // the function that contains the subgraph
  // values of the outer graph, and the inputs that represent them
  std::vector<std::pair<ValueId, ValueId>> captures_;
  std::unordered_map<ValueId, ValueId> captured_;  // the same, for lookup
};

}  // namespace tenon::onnx
