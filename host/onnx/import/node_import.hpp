// One node of a model, as those see it who know what it means.
#pragma once
#include <optional>
#include <set>

#include "onnx/import/importer.hpp"

namespace tenon::onnx {

/// What a composition sees: attributes, inputs, and calls of Tenon's operators. Attributes that nobody asked for are refused at the end.
class NodeImport {
 public:
  NodeImport(Importer& importer, const proto::Node& node, std::int64_t version);

  const proto::Node& node() const { return node_; }
  std::int64_t version() const { return version_; }  ///< of the node's domain
  std::string label() const;                         ///< `Gemm node 'fc1'`
  Failure refusal(const std::string& reason, const std::string& hint = {}) const;
  [[noreturn]] void refuse(const std::string& reason, const std::string& hint = {}) const { throw refusal(reason, hint); }
  void require(bool condition, const std::string& reason) const {
    if (!condition) refuse(reason);
  }
  /// For shapes and elements that a run may know later: a node that is refused for want of them may wait.
  void require_known(bool condition, const std::string& reason, const std::string& hint = {}) const;
  /// For refusals by other means.
  void note_unknown() const { lacks_known_ = true; }
  bool lacks_known() const { return lacks_known_; }

  const proto::Attribute* attribute(std::string_view name);  ///< null: the node has none
  std::int64_t integer(std::string_view name, std::int64_t otherwise);
  double real(std::string_view name, double otherwise);
  std::string text(std::string_view name, std::string_view otherwise);
  std::optional<std::vector<std::int64_t>> integers(std::string_view name);
  Tensor tensor(std::string_view name);  ///< empty: the node has none
  /// As a parameter's value; nothing for kinds that no parameter has.
  std::optional<AttributeValue> value_of(const proto::Attribute& attribute);
  void ignore(std::string_view name) { attribute(name); }

  std::size_t inputs() const { return node_.inputs.size(); }
  bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  Operand input(std::size_t i);  ///< refused where it is left out
  Operand optional_input(std::size_t i) { return has(i) ? input(i) : Operand{}; }
  /// The elements of an input of integers that must be known while the node is read; nothing where the input is left out.
  std::optional<std::vector<std::int64_t>> known_integers(std::size_t i);
  std::optional<double> known_number(std::size_t i);

  DType dtype(const Operand& operand) const;    ///< refused where it is not known
  Shape shape(const Operand& operand) const;    ///< as far as it is known
  int rank(const Operand& operand) const;       ///< refused where it is not known
  int axis(std::int64_t axis, int rank) const;  ///< 0 to rank - 1; refused otherwise

  Operand add(const std::string& op, const std::vector<Operand>& inputs, const Attributes& attributes = {});
  Operand add(const std::string& op, const Importer::Named& inputs, const Attributes& attributes = {});
  std::vector<Operand> add_all(const std::string& op, const std::vector<Operand>& inputs, const Attributes& attributes = {});
  Operand constant(const Tensor& elements) const { return {none, elements, {}}; }
  Operand constant(const std::vector<std::int64_t>& elements) const;
  /// int64 [count]: 0, 1 ... Refused where a file of this size may not have so many.
  Operand count_to(std::int64_t count);
  /// For elements that are made while the model is read. Refused where they are too many for a file of this size.
  void make_room(std::int64_t bytes) const;
  /// A scalar of the operand's dtype. Refused where an integer of that dtype cannot have the value.
  Operand scalar(double value, const Operand& like) const;
  /// int64 [rank]: known where all sizes are, else computed when a run is planned.
  Operand shape_of(const Operand& operand);
  Operand cast(const Operand& operand, DType dtype);
  Tensor converted(const Tensor& elements, DType dtype) const;  ///< at once, however many there are
  /// Halves as float32, so that several operators round once, at the end; anything else as it is.
  Operand widened(const Operand& operand);

  const proto::Graph& graph(std::string_view name);  ///< refused where the attribute is none
  /// What a graph returns that certainly runs: its nodes become this one's. Empty where operators are missing.
  std::vector<Operand> inlined(const proto::Graph& graph, const std::vector<Operand>& inputs = {});

  bool wants(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }
  /// Whether anything reads the output, or the model returns it.
  bool is_read(std::size_t i) const;
  void output(std::size_t i, Operand operand);
  void output(Operand operand) { output(0, std::move(operand)); }

  /// Throws for what was not used.
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

/// An operator of ONNX that is several of Tenon's, or another one than its name says. Each file in onnx/operators defines some.
struct Composition {
  using Import = void (*)(NodeImport&);
  Composition(const char* type, Import import, int since = 1, const char* domain = "");
};
/// Null where there is none for this version.
Composition::Import find_composition(std::string_view domain, std::string_view type, std::int64_t version);
/// The first version of which there is one; 0: there is none.
int first_composition(std::string_view domain, std::string_view type);

}  // namespace tenon::onnx
