// Graphs: built node by node, differentiated, saved and loaded.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/dtype.hpp>
#include <tenon/host/api.hpp>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/catalog.hpp>
#include <tenon/host/graph_info.hpp>
#include <tenon/host/init.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/shape.hpp>
#include <utility>
#include <vector>

namespace tenon {

class Host;

/// A value of one graph; of a node, its first output. A cheap handle. `Value()` is empty: it stands for an omitted input.
class Value {
 public:
  Value() = default;
  /// The i-th output of the node that made this value.
  Value output(std::uint32_t i) const { return Value(graph_, base_, i); }
  bool empty() const { return base_ == 0xffffffff; }

 private:
  friend class Graph;
  Value(std::uint32_t graph, std::uint32_t base, std::uint32_t offset = 0) : graph_(graph), base_(base), offset_(offset) {}
  std::uint32_t graph_ = 0, base_ = 0xffffffff, offset_ = 0;
};

struct GradientOptions {
  Value seed;                    ///< the gradient of the loss itself, with its shape; empty: ones, so the elements of the loss are summed
  std::vector<Value> recompute;  ///< outputs of nodes that backward recomputes instead of keeping them; not of nodes with states
  /// Bytes that a training step may need besides inputs, variables and outputs. If that is too little to keep everything, values are
  /// recomputed, those of cheap operators first. 0: no limit.
  std::int64_t memory_budget = 0;
  std::map<std::string, Shape> shapes;  ///< for the budget: shapes of inputs with unknown dimensions
};

struct LoadOptions {
  /// Compares the tensors of a .tenon file with their checksums, which reads them all. Without it, a file of any size opens at once, and
  /// damaged elements are not noticed.
  bool verify = true;
  /// Files of more bytes are mapped, not read: pages of tensors come in when they are first used. Runs fail where such a file has changed
  /// meanwhile (see guard_mapped_files()). What is read stays as it was, whatever happens to the file.
  std::uint64_t map_above = std::uint64_t{64} << 20;
};

/// Nodes (operator, parameters, name) and the typed values between them. Copies of the handle share the graph.
/// Each function checks what it is given: add() checks names, parameters, dtypes and shapes, and throws Failure with node, operator and
/// shapes. A value of another graph is an error, except for the values that a clone shares with its original.
/// Threads: one at a time per graph. A graph keeps what it needs of its Host alive.
class TENON_API Graph {
 public:
  explicit Graph(Host& host);

  /// A value that each run receives. Unknown dimensions (-1) are those that each run chooses; the dtype must be known.
  Value input(std::string_view name, DType dtype, const Shape& shape);
  Value variable(std::string_view name, const Tensor& tensor);  ///< a weight; the elements are shared, not copied
  /// A weight that gets its elements when they are first needed: by initialize(), by save(), or by each session for itself.
  Value variable(std::string_view name, DType dtype, const Shape& shape, const Init& init = {});
  Value constant(std::string_view name, const Tensor& tensor);

  /// Adds a node and returns its first output. Inputs are in the operator's order. Weights (`.weight()` of the SDK) that are omitted or
  /// empty become variables named `node_input`, whose shapes are inferred; optional ones only if the operator requests them. Another
  /// required input must be given, or this throws Failure (usage). An empty name becomes `op`, `op_1` ...
  Value add(std::string_view op, const std::vector<Value>& inputs, const Attributes& attributes = {}, std::string_view name = {});
  /// The same with inputs by name.
  Value add(std::string_view op, const std::vector<std::pair<std::string, Value>>& inputs, const Attributes& attributes = {},
            std::string_view name = {});
  /// A node from an operator object of the application; its kernels run on copies of the object. Parameters are those that describe()
  /// names; other members are not in files, and loading a file of such a graph warns of the node. Registers the class at its first use,
  /// under its name in snake_case (MyOp -> my_op); Host::add() gives a class another name before, as class templates need. Throws Failure
  /// (usage) where another class of the application has that name. Defined in <tenon/host/udf.hpp>.
  template <class Op>
  Value udf(const Op& op, const std::vector<Value>& inputs, std::string_view name = {});
  void output(std::string_view name, Value value);  ///< runs return the value by this name

  /// Adds the nodes that compute the gradient of `loss` (of its sum if it has many elements), and returns the gradient with respect to each
  /// of `wrt`, with its shape and dtype; an empty value if it is zero. backward() kernels, gradient() graphs and the SDK's derivatives mix
  /// freely. Integer and boolean values stop the gradient. The loss may contain gradients: second derivatives are taken of nodes that were
  /// added here. Throws Failure (failed) with the path to the loss if an operator on it has no gradient, or no second one, and Failure
  /// (usage) for values that are not floating; the graph is then unchanged.
  std::vector<Value> gradient(Value loss, const std::vector<Value>& wrt, const GradientOptions& options = {});
  /// The same value, but no gradient passes through it.
  Value stop_gradient(Value value, std::string_view name = {});
  /// At the end of each run of a training session, `variable` becomes `value`: in place, without a copy, if the value's operator allows it.
  /// Once per variable. Throws Failure (usage).
  void update(Value variable, Value value);

  /// An independent graph with the same nodes and values. Nothing is copied until one of the two is edited; tensors are shared.
  Graph clone() const;

  /// By name: `node`, `node:1`, `node:mask`, or the name of an input, variable, state or constant. Throws Failure (usage).
  Value find(std::string_view text) const;
  DType dtype(Value value) const;  ///< throws Failure if it is not known yet
  Shape shape(Value value) const;  ///< as far as it is known
  /// The elements of a variable, state or constant, shared and not copied; an empty tensor if it has none yet.
  Tensor tensor(Value value) const;
  Tensor tensor(std::string_view name) const { return tensor(find(name)); }

  std::vector<ValueInfo> inputs() const;   ///< in the order in which they were added, as are the lists below
  std::vector<ValueInfo> outputs() const;  ///< those of the graph, by the names that output() gave them
  std::vector<ValueInfo> variables() const;
  std::vector<ValueInfo> states() const;
  std::vector<ValueInfo> constants() const;
  std::vector<NodeInfo> nodes() const;
  ValueInfo info(Value value) const;
  std::vector<UsedOperator> operators() const;
  /// The model's names, as "x:0", of inputs, outputs and variables of an ONNX model whose names here do not tell them, as "x_0_1" of a
  /// model with an "x_0": by the names here. For own_name().
  std::map<std::string, std::string> changed_names() const;
  std::optional<TrainingInfo> training() const;  ///< of a checkpoint; nothing for other graphs
  /// Those of inputs() that a run of these outputs needs, in a training session or in another one; all of them if no output is named.
  /// Throws Failure (usage) for a name that is not an output.
  std::vector<ValueInfo> needed_inputs(std::span<const std::string> outputs, bool training = false) const;

  /// Writes a .tenon file, completely or not at all. Variables without elements are initialized from `seed` first.
  void save(const std::filesystem::path& path, std::uint64_t seed = 0);
  /// Reads a .tenon or graph.json file. A .tenon file opens without plugins: bind() and runs need them. A graph.json file needs its
  /// operators at once. Throws Failure (file) with what is wrong and where; damaged tensors by name.
  static Graph load(Host& host, const std::filesystem::path& path, const LoadOptions& options = {});
  /// The same in memory, in the format of .tenon files. from_bytes() copies what it needs; `name` stands for the path in errors.
  std::vector<std::byte> to_bytes(std::uint64_t seed = 0);
  static Graph from_bytes(Host& host, std::span<const std::byte> bytes, const std::string& name = "graph");
  static Graph from_json(Host& host, std::string_view text, const std::filesystem::path& folder = {});
  std::string to_json() const;

  /// Finds and loads every operator, creates each node's object and infers the types. The error names all missing operators at once.
  void bind();
  /// Initializes the variables that have no elements yet.
  void initialize(std::uint64_t seed = 0);

  Host& host() const;
  struct TENON_HIDDEN Impl;

 private:
  /// Registers the class unless it is, and adds the node. `lost`: the class's name, if objects hold more than files do.
  struct Object {
    const tenon_operator* table;
    std::string class_name, lost;
    std::function<std::string(std::string_view name)> manifest;
    OperatorFactory make;
  };
  Value add_object(Object object, const std::vector<Value>& inputs, const Attributes& attributes, std::string_view name);

  friend class Session;  // takes a snapshot
  friend struct Inner;   // the host's own code
  explicit Graph(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenon
