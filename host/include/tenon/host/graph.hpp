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

/// A value of a graph; for a node, its first output. A cheap handle. An empty `Value()` stands for
/// an omitted input.
class Value {
 public:
  Value() = default;
  /// The i-th output of the node that made this value.
  Value output(std::uint32_t i) const { return Value(graph_, base_, i); }
  bool empty() const { return base_ == 0xffffffff; }

 private:
  friend class Graph;
  Value(std::uint32_t graph, std::uint32_t base, std::uint32_t offset = 0)
      : graph_(graph), base_(base), offset_(offset) {}
  std::uint32_t graph_ = 0, base_ = 0xffffffff, offset_ = 0;
};

struct GradientOptions {
  /// the gradient of the loss itself, with its shape; empty: ones, so that the elements of the loss
  /// are summed
  Value seed;
  std::vector<Value> recompute;  ///< outputs of nodes to recompute in backward instead of storing
                                 ///< them; not of nodes with states
  /// Bytes that a training step may need besides inputs, variables and outputs. If they do not
  /// suffice to store all values, some are recomputed, those of cheap operators first. 0: no limit.
  std::int64_t memory_budget = 0;
  std::map<std::string, Shape>
      shapes;  ///< for the budget: shapes of inputs with unknown dimensions
};

struct LoadOptions {
  /// Compares the tensors of a .tenon file with their checksums, which reads all of them. Without
  /// it, a file of any size opens at once, and damaged elements are not detected.
  bool verify = true;
  /// Files of more bytes are memory-mapped instead of read: pages are loaded when first used, and
  /// runs fail if the file has changed meanwhile (see guard_mapped_files()). A file that is read
  /// may change afterwards without any effect.
  std::uint64_t map_above = std::uint64_t{64} << 20;
};

/// Nodes (operator, parameters, name) and the typed values between them. Copies of the handle share
/// the graph. Each function validates its arguments: add() checks names, parameters, dtypes and
/// shapes, and throws Failure with node, operator and shapes. A value of another graph is an error,
/// except for values that a clone shares with its original. Threads: one at a time per graph. A
/// graph keeps alive what it needs of its Host.
class TENON_API Graph {
 public:
  explicit Graph(Host& host);

  /// Adds an input, which each run receives. Unknown dimensions (-1) may differ between runs; the
  /// dtype must be known.
  Value input(std::string_view name, DType dtype, const Shape& shape);
  /// Adds a weight; the elements are shared, not copied.
  Value variable(std::string_view name, const Tensor& tensor);
  /// Adds a weight that is initialized when its elements are first needed: by initialize(), by
  /// save(), or by each session for itself.
  Value variable(std::string_view name, DType dtype, const Shape& shape, const Init& init = {});
  Value constant(std::string_view name, const Tensor& tensor);

  /// Adds a node and returns its first output. Inputs are in the operator's order. Weights
  /// (`.weight()` of the SDK) that are omitted or empty become variables named `node_input`, whose
  /// shapes are inferred; optional weights only if the operator requests them. Omitting another
  /// required input throws Failure (usage). An empty name becomes `op`, `op_1` ...
  Value add(std::string_view op, const std::vector<Value>& inputs,
            const Attributes& attributes = {}, std::string_view name = {});
  /// Like add() above, with inputs by name.
  Value add(std::string_view op, const std::vector<std::pair<std::string, Value>>& inputs,
            const Attributes& attributes = {}, std::string_view name = {});
  /// Adds a node for an operator object of the application; its kernels run on copies of the
  /// object. Its parameters are those that describe() declares; other members are not saved, and
  /// loading such a file warns about the node. Registers the class at first use, under its name in
  /// snake_case (MyOp -> my_op); call Host::add() first to choose another name, as class templates
  /// need. Throws Failure (usage) if another class of the application has that name. Defined in
  /// <tenon/host/udf.hpp>.
  template <class Op>
  Value udf(const Op& op, const std::vector<Value>& inputs, std::string_view name = {});
  void output(std::string_view name, Value value);  ///< runs return the value under this name
  /// Makes an int32 or int64 value categorical: its elements are indices of these names, -1 stands
  /// for an unknown one. Runs take and return the indices; Categories converts them to names and
  /// back. Without names, the elements are numbers again. Throws Failure (usage) for other dtypes
  /// and for names that are not UTF-8 or occur twice.
  void set_categories(Value value, const std::vector<std::string>& names);

  /// Adds the nodes that compute the gradient of `loss` (of its sum if it has many elements), and
  /// returns the gradient with respect to each of `wrt`, with its shape and dtype; an empty value
  /// if it is zero. backward() kernels, gradient() graphs and the SDK's derivatives may be
  /// combined. Integer and boolean values stop the gradient. The loss may contain gradients: second
  /// derivatives are available for nodes that this function added. Throws Failure (failed), with
  /// the path to the loss, if an operator on it has no gradient, or no second one, and Failure
  /// (usage) for values that are not floating; the graph is then unchanged.
  std::vector<Value> gradient(Value loss, const std::vector<Value>& wrt,
                              const GradientOptions& options = {});
  /// Returns the same value, through which no gradient passes.
  Value stop_gradient(Value value, std::string_view name = {});
  /// At the end of each run of a training session, `variable` is assigned `value`: in place,
  /// without a copy, if the value's operator allows it. At most once per variable. Throws Failure
  /// (usage).
  void update(Value variable, Value value);

  /// An independent graph with the same nodes and values. Copies nothing until one of the two is
  /// edited; tensors are shared.
  Graph clone() const;

  /// Finds a value by name: `node`, `node:1`, `node:mask`, or the name of an input, variable, state
  /// or constant. Throws Failure (usage).
  Value find(std::string_view text) const;
  DType dtype(Value value) const;  ///< throws Failure if it is not known yet
  Shape shape(Value value) const;  ///< as far as it is known
  /// The elements of a variable, state or constant, shared and not copied; an empty tensor if it
  /// has none yet. The graph and new sessions follow writes to constants that determine shapes;
  /// existing sessions refuse to run if their shapes would change.
  Tensor tensor(Value value) const;
  Tensor tensor(std::string_view name) const { return tensor(find(name)); }

  std::vector<ValueInfo> inputs() const;  ///< in insertion order, as are the lists below
  std::vector<ValueInfo> outputs()
      const;  ///< the graph's outputs, under the names passed to output()
  std::vector<ValueInfo> variables() const;
  std::vector<ValueInfo> states() const;
  std::vector<ValueInfo> constants() const;
  std::vector<NodeInfo> nodes() const;
  ValueInfo info(Value value) const;
  std::vector<UsedOperator> operators() const;
  /// The original names of an ONNX model's inputs, outputs and variables, keyed by their names in
  /// this graph; only for names that do not determine the original, such as "x_0_1" for the "x:0"
  /// of a model that also has an "x_0". For name_in_graph().
  std::map<std::string, std::string> changed_names() const;
  std::optional<TrainingInfo> training() const;  ///< of a checkpoint; nothing for other graphs
  /// The inputs() that a run of these outputs needs, in a training session or otherwise; all of
  /// them if `outputs` is empty. Throws Failure (usage) for a name that is not an output.
  std::vector<ValueInfo> needed_inputs(std::span<const std::string> outputs,
                                       bool training = false) const;

  /// Writes a .tenon file atomically. Variables without elements are first initialized from `seed`.
  void save(const std::filesystem::path& path, std::uint64_t seed = 0);
  /// Reads a .tenon or graph.json file. A .tenon file opens without plugins, which only bind() and
  /// runs need. A graph.json file needs its operators at once. Throws Failure (file) that says what
  /// is wrong and where; damaged tensors are named.
  static Graph load(Host& host, const std::filesystem::path& path, const LoadOptions& options = {});
  /// Like save() and load(), in memory, in the format of .tenon files. from_bytes() copies what it
  /// needs; `name` replaces the path in errors.
  std::vector<std::byte> to_bytes(std::uint64_t seed = 0);
  static Graph from_bytes(Host& host, std::span<const std::byte> bytes,
                          const std::string& name = "graph");
  static Graph from_json(Host& host, std::string_view text,
                         const std::filesystem::path& folder = {});
  std::string to_json() const;

  /// Finds and loads every operator, creates each node's object and infers the types. The error
  /// lists all missing operators.
  void bind();
  /// Initializes the variables that have no elements yet.
  void initialize(std::uint64_t seed = 0);

  Host& host() const;
  struct TENON_HIDDEN Impl;

 private:
  /// Registers the class if it is new, and adds the node. `unsaved_class`: the class's name if its
  /// objects have members that files do not store.
  struct Object {
    const tenon_operator* table;
    std::string class_name, unsaved_class;
    std::function<std::string(std::string_view name)> manifest;
    OperatorFactory make;
  };
  Value add_object(Object object, const std::vector<Value>& inputs, const Attributes& attributes,
                   std::string_view name);

  friend class Session;      // takes a snapshot
  friend struct ImplAccess;  // the host's own code
  explicit Graph(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenon
