// The interface through which compositions import a node.
#pragma once
#include <optional>
#include <set>

#include "onnx/import/importer.hpp"

namespace tenon::onnx {

/// Gives a composition access to attributes and inputs, and calls Tenon operators. Attributes that
/// were not read are an error at the end.
class NodeImport {
 public:
  NodeImport(Importer& importer, const proto::Node& node, std::int64_t version);

  const proto::Node& node() const { return node_; }
  std::int64_t version() const { return version_; }  ///< of the node's opset
  std::string label() const;                         ///< `Gemm node 'fc1'`
  Failure refusal(const std::string& reason, const std::string& hint = {}) const;
  [[noreturn]] void refuse(const std::string& reason, const std::string& hint = {}) const {
    throw refusal(reason, hint);
  }
  void require(bool condition, const std::string& reason) const {
    if (!condition) refuse(reason);
  }
  /// Requires shapes or elements that may be known only at run time: a node rejected for their lack
  /// may be deferred.
  void require_known(bool condition, const std::string& reason, const std::string& hint = {}) const;
  /// For errors that are thrown in other ways.
  void note_unknown() const { lacks_known_ = true; }
  bool lacks_known() const { return lacks_known_; }

  const proto::Attribute* attribute(std::string_view name);  ///< null if the node has none
  std::int64_t integer(std::string_view name, std::int64_t otherwise);
  double real(std::string_view name, double otherwise);
  std::string text(std::string_view name, std::string_view otherwise);
  std::optional<std::vector<std::int64_t>> integers(std::string_view name);
  Tensor tensor(std::string_view name);                        ///< empty if the node has none
  const List<std::string_view>* texts(std::string_view name);  ///< null if the node has none
  /// The names of an output that is text.
  SharedNames names_of_output(std::size_t i) const {
    return importer_.names_of_output(has_output(i) ? node_.outputs[i] : std::string_view());
  }
  /// As a parameter value; nothing for types that parameters do not support.
  std::optional<AttributeValue> value_of(const proto::Attribute& attribute);
  void ignore(std::string_view name) { attribute(name); }

  std::size_t inputs() const { return node_.inputs.size(); }
  bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  Operand input(std::size_t i);  ///< error if it is omitted
  Operand optional_input(std::size_t i) { return has(i) ? input(i) : Operand{}; }
  /// The elements of an integer input, which must be known at import; nothing if the input is
  /// omitted.
  std::optional<std::vector<std::int64_t>> known_integers(std::size_t i);
  std::optional<double> known_number(std::size_t i);

  DType dtype(const Operand& operand) const;  ///< error if it is unknown
  Shape shape(const Operand& operand) const;  ///< as far as it is known
  int rank(const Operand& operand) const;     ///< error if it is unknown
  /// normalized to 0 ... rank - 1; error if out of range
  int axis(std::int64_t axis, int rank) const;

  Operand add(const std::string& op, const std::vector<Operand>& inputs,
              const Attributes& attributes = {});
  Operand add(const std::string& op, const Importer::Named& inputs,
              const Attributes& attributes = {});
  std::vector<Operand> add_all(const std::string& op, const std::vector<Operand>& inputs,
                               const Attributes& attributes = {});
  Operand constant(const Tensor& elements) const { return {none, elements, {}}; }
  Operand constant(const std::vector<std::int64_t>& elements) const;
  /// int64 [count] with 0, 1, 2 and so on. Error if that is too much for a file of this size.
  Operand arange(std::int64_t count);
  /// Accounts for elements created at import. Error if they are too much for a file of this size.
  void charge_bytes(std::int64_t bytes) const;
  /// A scalar of the operand's dtype. Error if an integer dtype cannot represent the value.
  Operand scalar(double value, const Operand& like) const;
  /// int64 [rank]; constant if all sizes are known, else computed by the plan.
  Operand shape_of(const Operand& operand);
  Operand cast(const Operand& operand, DType dtype);
  /// always evaluated at import, whatever its size
  Tensor converted(const Tensor& elements, DType dtype) const;
  /// Half-precision operands as float32, so that a composition of several operators rounds once, at
  /// the end; others unchanged.
  Operand widened(const Operand& operand);

  /// Imports the node as ONNX's operator of this type, with its own attributes and outputs and with
  /// these inputs, of which some may be empty.
  void import_as(std::string_view type, const std::vector<Operand>& inputs);
  const proto::Graph& graph(std::string_view name);  ///< error if the attribute is not a graph
  /// Inlines a graph that certainly runs and returns its results. Empty if operators are missing.
  std::vector<Operand> inlined(const proto::Graph& graph, const std::vector<Operand>& inputs = {});

  bool has_output(std::size_t i) const {
    return i < node_.outputs.size() && !node_.outputs[i].empty();
  }
  /// Whether a node reads the output or the model returns it.
  bool is_read(std::size_t i) const;
  void output(std::size_t i, Operand operand);
  void output(Operand operand) { output(0, std::move(operand)); }

  /// Throws if an attribute or output was not handled.
  void finish() const;
  Importer& importer() const { return importer_; }
  Host& host() const { return importer_.host_; }
  std::string_view name() const { return node_.name; }

 private:
  void require_elements(std::size_t i, const Operand& operand) const;
  [[noreturn]] void refuse_kind(const proto::Attribute& attribute, const char* needed) const;
  std::string_view next_name();

  Importer& importer_;
  const proto::Node& node_;
  const std::int64_t version_;
  std::set<std::string_view> used_;
  bool named_ = false;
  mutable bool lacks_known_ = false;
};

/// Whether the node's operator reads or makes sequences or optionals.
bool handles_sequences(const proto::Node& node);

/// An ONNX operator that becomes several Tenon operators, or one of another name. Each file in
/// onnx/operators defines some.
struct Composition {
  using Import = void (*)(NodeImport&);
  Composition(const char* type, Import import, int since = 1, const char* domain = "");
};
/// Null if there is none for this version.
Composition::Import find_composition(std::string_view domain, std::string_view type,
                                     std::int64_t version);
/// The first version that has one; 0 if there is none.
int first_composition(std::string_view domain, std::string_view type);

}  // namespace tenon::onnx
