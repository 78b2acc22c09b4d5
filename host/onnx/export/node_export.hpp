// One node of a graph, as those see it who know how to write it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/model.hpp"
#include "onnx/export/scope.hpp"

namespace tenon::onnx {

/// What a node is, and what it becomes.
struct ExportedNode {
  const OperatorInfo& info;  ///< with the node's parameters
  std::string name;
  Attributes parameters;            ///< all of them
  written::Texts inputs, outputs;   ///< ONNX's names; of inputs that are not connected empty, of states after the inputs
  std::vector<tenon_type> types{};  ///< of inputs and states
  std::vector<tenon_type> output_types{};
  std::vector<bool> read{};  ///< of outputs: whether anything reads them
};

/// What parts see: parameters, inputs, and nodes to add. Names of inputs, outputs and parameters are the operator's.
class NodeExport {
 public:
  NodeExport(const ExportedNode& node, Scope& scope, std::int64_t opset) : node_(node), scope_(scope), opset_(opset) {}

  const OperatorInfo& info() const { return node_.info; }
  const ExportedNode& node() const { return node_; }
  std::int64_t opset() const { return opset_; }
  bool loses() const { return loses_; }  ///< whether a number became infinite, or 0, or another integer: what was added is wrong

  const AttributeValue& parameter(std::string_view name) const;
  bool has_parameter(std::string_view name) const;
  std::int64_t integer(std::string_view name) const { return std::get<std::int64_t>(parameter(name).variant()); }
  bool flag(std::string_view name) const { return std::get<bool>(parameter(name).variant()); }
  double real(std::string_view name) const { return std::get<double>(parameter(name).variant()); }
  const std::string& text(std::string_view name) const { return std::get<std::string>(parameter(name).variant()); }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return std::get<std::vector<std::int64_t>>(parameter(name).variant());
  }

  /// By place, or by the name of an input or state; empty where it is not connected.
  std::string input(std::size_t i) const { return i < node_.inputs.size() ? node_.inputs[i] : std::string(); }
  std::string input(std::string_view name) const;
  const tenon_type& type(std::size_t i) const { return node_.types[i]; }
  DType dtype(std::size_t i = 0) const { return static_cast<DType>(node_.types[i].dtype); }
  int rank(std::size_t i = 0) const { return node_.types[i].rank; }  ///< -1: not known
  DType output_dtype(std::size_t i = 0) const { return static_cast<DType>(node_.output_types[i].dtype); }
  /// `node 'NAME' ...`, for the user, if what the parts wrote stays.
  void note(const std::string& text) { notes_.push_back(text); }
  const written::Texts& notes() const { return notes_; }
  bool is_read(std::size_t i) const { return i < node_.read.size() && node_.read[i]; }

  using Attributes = std::vector<written::Attribute>;
  /// A node between; gives its output.
  std::string add(const std::string& type, written::Texts inputs, Attributes attributes = {});
  /// The node that makes output i.
  void output(const std::string& type, written::Texts inputs, Attributes attributes = {}, std::size_t i = 0);
  /// A node of several outputs, named by whoever adds it.
  void add_node(written::Node node, std::int64_t version);
  void is_output(const std::string& value, std::size_t i = 0) { output("Identity", {value}, {}, i); }
  std::string free_name(std::string_view part);

  std::string integers_constant(const std::vector<std::int64_t>& elements);
  std::string integer_constant(std::int64_t value);         ///< a scalar
  std::string scalar(double value, DType dtype);            ///< rounded once; loses() where no element of the dtype is near it
  std::string cast(const std::string& value, DType dtype);  ///< a Cast
  std::string constant(const Tensor& elements) { return scope_.constant(node_.name + "/constant", elements); }
  std::string reshaped(const std::string& value, const std::vector<std::int64_t>& shape) {
    return add("Reshape", {value, integers_constant(shape)});
  }
  /// Reductions have their axes as an attribute before some opset and as an input after.
  std::string reduce(const std::string& type, const std::string& value, const std::vector<std::int64_t>& axes, bool keepdims);

 private:
  std::string next_name(const std::string& type);

  const ExportedNode& node_;
  Scope& scope_;
  std::int64_t opset_;
  bool loses_ = false;
  written::Texts notes_;
};

/// A scalar; nothing where no element of the dtype is the number but for its rounding.
std::optional<Tensor> as_scalar(double value, DType dtype);

/// Halves of a formula are computed in float32 and rounded once, as Tenon's kernels do.
struct Wide {
  explicit Wide(NodeExport& of) : node(of), narrow(node.dtype() == f16 || node.dtype() == bf16), dtype(narrow ? f32 : node.dtype()) {}
  std::string input(std::size_t i) const { return narrow ? node.cast(node.input(i), f32) : node.input(i); }
  std::string scalar(double value) const { return node.scalar(value, dtype); }
  void output(const char* type, written::Texts inputs) const {
    if (!narrow) return node.output(type, std::move(inputs));
    node.output("Cast", {node.add(type, std::move(inputs))}, {{"to", std::int64_t{written::number_of(node.dtype())}}});
  }

  NodeExport& node;
  bool narrow;
  DType dtype;
};

/// For each input of a written node, which of the operator's inputs it is; `none`: a parameter, or absent.
using Sources = std::vector<std::size_t>;

/// Writes the node by one form of its operator; nothing: it does not fit, and nothing is written.
std::optional<Sources> write_by_form(NodeExport& node, const OnnxForm& form, std::int64_t version);

/// Operators that are written as several nodes, or one that no form can say. Each file in onnx/parts defines some.
struct Parts {
  using Write = bool (*)(NodeExport&);  ///< false: it does not fit this node, and nothing is written
  Parts(const char* op, Write write);
};
/// By an operator's full name; null where there are none.
Parts::Write find_parts(std::string_view op);

}  // namespace tenon::onnx
