// Graphs: built node by node, saved, loaded, shown.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tenon/attribute_map.hpp>
#include <tenon/dtype.hpp>
#include <tenon/graph_info.hpp>
#include <tenon/init.hpp>
#include <tenon/shape.hpp>
#include <tenon/tensor.hpp>
#include <utility>
#include <vector>

namespace tenon {

class Host;
struct GraphModel;

/// A value of one graph: a node's first output unless said otherwise. A cheap handle; `Value()` stands for an input left out.
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
  Value seed;  ///< the gradient of the loss itself, of its shape; empty: ones, so that a loss with many elements is summed
  std::vector<Value> recompute;  ///< outputs of nodes that backward computes again instead of keeping them; nodes with states cannot be
  /// Bytes that a training step may need besides inputs, variables and outputs; where it is too little to keep everything, values are
  /// chosen to be computed again, those of cheap operators first. 0: no limit.
  std::int64_t memory_budget = 0;
  std::map<std::string, Shape> shapes;  ///< of inputs whose dimensions are not all known, for the budget
};

struct LoadOptions {
  /// Compares the elements of a .tenon file's tensors with their checksums, which reads them all. Without it a file is open at once
  /// whatever its size, and damaged elements are used as they are.
  bool verify = true;
};

/// Nodes (operator, parameters, name) and the typed values between them. Copies of the handle share the graph.
/// Every mistake is reported where it is made: add() checks names, parameters, dtypes and shapes and throws Failure with the node, the
/// operator and the shapes. A value of another graph is refused, but for those that a clone has in common with its original.
/// Threads: one at a time per graph. A graph keeps what it needs of its Host alive.
class Graph {
 public:
  explicit Graph(Host& host);

  /// A value that each run is given. Dimensions may be unknown (-1).
  Value input(std::string_view name, DType dtype, const Shape& shape);
  Value variable(std::string_view name, const Tensor& tensor);  ///< a weight; the elements are shared, not copied
  /// A weight whose elements are drawn when they are first needed: by initialize(), save(), or by each session for itself.
  Value variable(std::string_view name, DType dtype, const Shape& shape, const Init& init = {});
  Value constant(std::string_view name, const Tensor& tensor);

  /// A node. Inputs in the operator's order; those left out at the end, or empty, become variables named `node_input` once inference finds
  /// their shape (optional ones only where the operator asks for them). An empty name becomes `op`, `op_1` ...
  Value add(std::string_view op, const std::vector<Value>& inputs, const Attributes& attributes = {}, std::string_view name = {});
  /// The same with inputs by name.
  Value add(std::string_view op, const std::vector<std::pair<std::string, Value>>& inputs, const Attributes& attributes = {},
            std::string_view name = {});
  /// A node from an operator object of the application itself, parameters as its members stand; its class is registered at first use.
  /// Defined in <tenon/udf.hpp>.
  template <class Op>
  Value udf(const Op& op, const std::vector<Value>& inputs, std::string_view name = {});
  void output(std::string_view name, Value value);

  /// Adds the nodes that compute the gradient of `loss` (its sum, where it has many elements) and gives the gradient of each of `wrt`, of
  /// its shape and dtype; empty where it is zero. Kernels' backward(), gradient() graphs and derivatives made by the SDK mix freely.
  /// Integer and boolean values stop the gradient. Throws Failure (failed) with the path to the loss where an operator on the way has no
  /// gradient, Failure (usage) for values that are not floating; the graph is then as it was.
  std::vector<Value> gradient(Value loss, const std::vector<Value>& wrt, const GradientOptions& options = {});
  /// The same value, through which no gradient passes.
  Value stop_gradient(Value value, std::string_view name = {});
  /// At the end of each run of a training session, `variable` takes `value`: in place, without a copy, where the value's operator declares
  /// that. Once per variable. Throws Failure (usage).
  void update(Value variable, Value value);

  /// A graph of its own with the same nodes and values. Nothing is copied until one of the two is edited; tensors are shared.
  Graph clone() const;

  /// `node`, `node:1`, `node:mask`, or an input's, variable's, state's or constant's name.
  Value find(std::string_view text) const;
  DType dtype(Value value) const;  ///< throws Failure while it is not known
  Shape shape(Value value) const;  ///< what is known of it
  /// The elements of a variable, state or constant as they are now; empty where it has none yet. Shared, not copied.
  Tensor tensor(Value value) const;
  Tensor tensor(std::string_view name) const { return tensor(find(name)); }

  std::vector<ValueInfo> inputs() const;   ///< in the order in which they were added; the others too
  std::vector<ValueInfo> outputs() const;  ///< of the graph, by the names given to them
  std::vector<ValueInfo> variables() const;
  std::vector<ValueInfo> states() const;
  std::vector<ValueInfo> constants() const;
  std::vector<NodeInfo> nodes() const;
  ValueInfo info(Value value) const;

  /// Writes a .tenon file: whole or not at all. Variables without values get them first, drawn from `seed`.
  void save(const std::filesystem::path& path, std::uint64_t seed = 0);
  /// A .tenon or graph.json file. Opens without plugins; bind() or running it needs them. Throws Failure (file) with what is wrong with it,
  /// damaged tensors by their names.
  static Graph load(Host& host, const std::filesystem::path& path, const LoadOptions& options = {});
  /// The same in memory, as a .tenon file has it. from_bytes() copies what it needs; `name` stands for the path in messages.
  std::vector<std::byte> to_bytes(std::uint64_t seed = 0);
  static Graph from_bytes(Host& host, std::span<const std::byte> bytes, const std::string& name = "graph");
  static Graph from_json(Host& host, std::string_view text, const std::filesystem::path& folder = {});
  std::string to_json() const;

  /// Finds and loads every operator, re-creates each node's object and infers the types. All missing operators are named at once.
  void bind();
  /// Gives values to variables that have none.
  void initialize(std::uint64_t seed = 0);

  Host& host() const;
  const GraphModel& model() const;  ///< the graph as plain data; for the host's own code
  struct Impl;
  Impl& impl() const { return *impl_; }  ///< for the host's own code

 private:
  friend class Session;  // takes a snapshot
  explicit Graph(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenon
