// The interface through which composed operators export a node.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "onnx/export/scope.hpp"

namespace tenon::onnx {

/// A node of the graph, with the ONNX names of its values.
struct ExportedNode {
  const OperatorInfo& info;  ///< specialized for the node's parameters
  std::string name;
  Attributes parameters;  ///< including defaults
  /// ONNX names; empty for unconnected inputs; states follow the inputs
  written::Texts inputs, outputs;
  std::vector<tenon_type> types{};  ///< of inputs and states
  std::vector<tenon_type> output_types{};
  std::vector<bool> read{};        ///< whether each output is read
  std::vector<Tensor> elements{};  ///< of inputs: of those that are constants or variables
};

/// Gives access to a node's parameters and inputs and adds ONNX nodes for it. Inputs, outputs and
/// parameters are named as in the operator.
class NodeExport {
 public:
  NodeExport(const ExportedNode& node, Scope& scope, std::int64_t opset)
      : node_(node), scope_(scope), opset_(opset) {}

  const OperatorInfo& info() const { return node_.info; }
  const ExportedNode& node() const { return node_; }
  std::int64_t opset() const { return opset_; }
  /// whether a number was rounded to infinity, 0 or another integer, so that the added nodes are
  /// wrong
  bool is_lossy() const { return is_lossy_; }

  const AttributeValue& parameter(std::string_view name) const;
  bool has_parameter(std::string_view name) const;
  std::int64_t integer(std::string_view name) const {
    return std::get<std::int64_t>(parameter(name).variant());
  }
  bool flag(std::string_view name) const { return std::get<bool>(parameter(name).variant()); }
  double real(std::string_view name) const { return std::get<double>(parameter(name).variant()); }
  const std::string& text(std::string_view name) const {
    return std::get<std::string>(parameter(name).variant());
  }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return std::get<std::vector<std::int64_t>>(parameter(name).variant());
  }

  /// By index, or by the name of an input or state; empty if it is not connected.
  std::string input(std::size_t i) const {
    return i < node_.inputs.size() ? node_.inputs[i] : std::string();
  }
  std::string input(std::string_view name) const;
  const tenon_type& type(std::size_t i) const { return node_.types[i]; }
  /// Empty unless the input is a constant or variable of the graph.
  Tensor elements(std::size_t i) const {
    return i < node_.elements.size() ? node_.elements[i] : Tensor();
  }
  DType dtype(std::size_t i = 0) const { return static_cast<DType>(node_.types[i].dtype); }
  int rank(std::size_t i = 0) const { return node_.types[i].rank; }  ///< -1: unknown
  DType output_dtype(std::size_t i = 0) const {
    return static_cast<DType>(node_.output_types[i].dtype);
  }
  /// Adds a note for the user, `node 'NAME' ...`; it is dropped if the nodes are rolled back.
  void note(const std::string& text) { notes_.push_back(text); }
  const written::Texts& notes() const { return notes_; }
  bool is_read(std::size_t i) const { return i < node_.read.size() && node_.read[i]; }

  using Attributes = std::vector<written::Attribute>;
  /// Adds an intermediate node and returns its output.
  std::string add(const std::string& type, written::Texts inputs, Attributes attributes = {});
  /// Adds the node that produces output i.
  void output(const std::string& type, written::Texts inputs, Attributes attributes = {},
              std::size_t i = 0);
  /// Adds a node with several outputs, which the caller names.
  void add_node(written::Node node, std::int64_t version);
  void alias_output(const std::string& value, std::size_t i = 0) {
    output("Identity", {value}, {}, i);
  }
  std::string free_name(std::string_view suffix);

  std::string integers_constant(const std::vector<std::int64_t>& elements);
  std::string integer_constant(std::int64_t value);  ///< a scalar
  /// rounded once; sets is_lossy() if the dtype cannot represent it
  std::string scalar(double value, DType dtype);
  std::string cast(const std::string& value, DType dtype);  ///< by a Cast node
  std::string constant(const Tensor& elements) {
    return scope_.constant(node_.name + "/constant", elements);
  }
  std::string reshaped(const std::string& value, const std::vector<std::int64_t>& shape) {
    return add("Reshape", {value, integers_constant(shape)});
  }
  /// Passes the axes of a reduction as an attribute or as an input, depending on the opset.
  std::string reduce(const std::string& type, const std::string& value,
                     const std::vector<std::int64_t>& axes, bool keepdims);

 private:
  std::string next_name(const std::string& type);

  const ExportedNode& node_;
  Scope& scope_;
  std::int64_t opset_;
  bool is_lossy_ = false;
  written::Texts notes_;
};

/// A scalar tensor; nothing if the number does not fit the dtype even when rounded.
std::optional<Tensor> as_scalar(double value, DType dtype);

/// Computes half-precision formulas in float32 and rounds once, as Tenon's kernels do.
struct Wide {
  explicit Wide(NodeExport& exported)
      : node(exported),
        narrow(node.dtype() == f16 || node.dtype() == bf16),
        dtype(narrow ? f32 : node.dtype()) {}
  std::string input(std::size_t i) const {
    return narrow ? node.cast(node.input(i), f32) : node.input(i);
  }
  std::string scalar(double value) const { return node.scalar(value, dtype); }
  void output(const char* type, written::Texts inputs) const {
    if (!narrow) return node.output(type, std::move(inputs));
    node.output("Cast", {node.add(type, std::move(inputs))},
                {{"to", std::int64_t{written::number_of(node.dtype())}}});
  }

  NodeExport& node;
  bool narrow;
  DType dtype;
};

/// For each input of a written node, the index of the operator's input; `none` for a parameter or
/// an absent input.
using Sources = std::vector<std::size_t>;

/// Writes the node by one ONNX form of its operator. Returns nothing, and writes nothing, if the
/// form does not fit.
std::optional<Sources> write_by_form(NodeExport& node, const OnnxForm& form, std::int64_t version);

/// Operators that are written as several nodes, or as one that no form can express. Each file in
/// onnx/decompositions defines some.
struct Decomposition {
  /// returns false and writes nothing if it does not fit this node
  using Write = bool (*)(NodeExport&);
  Decomposition(const char* op, Write write);
};
/// By an operator's full name; null if it has none.
Decomposition::Write find_decomposition(std::string_view op);

}  // namespace tenon::onnx
