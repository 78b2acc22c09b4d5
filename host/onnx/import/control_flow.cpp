// Imports If, Loop and Scan: subgraphs become graph parameters of Tenon operators.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_set>

#include "graph/inference/type.hpp"
#include "onnx/import/node_import.hpp"
#include "run/control_flow/subgraph.hpp"
#include "run/inference_budget.hpp"

namespace tenon::onnx {
namespace {

constexpr std::size_t subgraph_cost = 100;  // of a subgraph, in nodes
constexpr std::size_t max_inlined = 1'000'000;
constexpr int max_nested = 32;          // nesting depth of subgraphs, including those in functions
constexpr std::size_t import_cost = 4;  // cost of importing a loop's body, in inferences of it
// of a Loop that becomes a scan over its iteration numbers
constexpr std::int64_t max_rows = 1 << 20;

/// Widens `into` until it covers `other`; returns whether it changed.
bool generalize(tenon_type& into, const tenon_type& other) {
  const auto before = into;
  if (into.rank != other.rank) into.rank = -1, std::fill_n(into.dims, TENON_MAX_RANK, 0);
  for (int axis = 0; axis < into.rank; ++axis)
    if (into.dims[axis] != other.dims[axis]) into.dims[axis] = unknown;
  return into.rank != before.rank ||
         !std::equal(into.dims, into.dims + std::max(into.rank, 0), before.dims);
}

Operand one(bool value) {
  auto tensor = Tensor::empty(boolean, Shape::scalar());
  *static_cast<bool*>(tensor.data()) = value;
  return {none, tensor, {}};
}

}  // namespace

/// A subgraph, imported by its own Importer.
class SubgraphImport {
 public:
  SubgraphImport(NodeImport& node, const proto::Graph& graph,
                 CapturedTypes captured = CapturedTypes::whole)
      : node_(node), graph_(graph), inner_(node.importer(), graph) {
    inner_.captured_types_ = captured;
    int depth = 0;
    for (const auto* at = inner_.outer_; at != nullptr; at = at->outer_) ++depth;
    node.require(depth <= max_nested,
                 fmt::format("subgraphs are nested more than {} levels deep", max_nested));
  }

  /// A branch may not fit the types it captures, either because it is not the one that runs or
  /// because the model declares too much. It is therefore imported again with unknown sizes, and
  /// then with unknown ranks. If one of its nodes cannot be computed even then, the branch becomes
  /// a graph that fails when it runs. Returns null if operators are missing.
  static std::unique_ptr<SubgraphImport> read_branch(NodeImport& node, const proto::Graph& graph) {
    std::optional<Failure> first;
    bool may_fail = false;
    for (const auto captured :
         {CapturedTypes::whole, CapturedTypes::ranks, CapturedTypes::dtypes}) {
      try {
        auto branch = std::make_unique<SubgraphImport>(node, graph, captured);
        return branch->import() ? std::move(branch) : nullptr;
      } catch (const Failure& failure) {
        if (!first)
          first = failure, may_fail = dynamic_cast<const NodeFailure*>(&failure) != nullptr;
        // the number of imports grows with each nesting level
        if (node.importer().inlined_ > max_inlined) break;
      }
    }
    if (!may_fail || node.importer().inlined_ > max_inlined) throw *std::move(first);
    auto branch = std::make_unique<SubgraphImport>(node, graph);
    branch->fail(*first);
    return branch;
  }

  /// Declares the next input of the graph; call it for all inputs, in order, before import().
  void input(const tenon_type& type) {
    const auto name = graph_.inputs[inputs_.size()].name;
    inputs_.push_back(inner_.builder_.input(inner_.free_name(name), type));
    inner_.define(name, {inputs_.back(), {}, {}});
  }

  /// Returns false, having added nothing, if operators are missing.
  bool import() {
    auto& outer = *inner_.outer_;
    struct SharedState {
      Importer &inner, &outer;
      SharedState(Importer& to, Importer& from) : inner(to), outer(from) {
        inner.swap_shared_state(outer);
      }
      ~SharedState() { inner.swap_shared_state(outer); }
    } const shared_state(inner_, outer);
    if ((inner_.inlined_ += graph_.nodes.size() + graph_.initializers.size() +
                            graph_.inputs.size() + subgraph_cost) > max_inlined)
      node_.refuse("the model has too many subgraphs, or they are too large");
    for (const auto& output : graph_.outputs) inner_.read_.insert(output.name);
    for (const auto& node : graph_.nodes) inner_.import_node(node);
    if (!inner_.missing_.empty()) return false;
    for (const auto& output : graph_.outputs) {
      results_.push_back(inner_.find(output.name));
      if (results_.back().names != nullptr)
        node_.refuse(fmt::format("its subgraph returns '{}', which is text", output.name));
      values_.push_back(inner_.value_of(results_.back()));
    }
    return true;
  }

  /// Why the graph cannot run; nothing if it can.
  const std::optional<Failure>& failure() const { return failure_; }

  std::size_t results() const { return results_.size(); }
  const Operand& result(std::size_t i) const { return results_[i]; }
  tenon_type type(std::size_t i) const { return inner_.type_of({values_[i], {}, {}}); }
  ValueId declared(std::size_t i) const { return inputs_[i]; }
  /// The values of the outer graph that this graph reads.
  std::vector<ValueId> captures() const {
    std::vector<ValueId> values;
    for (const auto& [outer, inner] : inner_.captures_) values.push_back(outer);
    return values;
  }
  /// Adds a capture, which this graph or the other one reads.
  void capture(ValueId value) { inner_.captured({value, {}, {}}); }

  /// Serializes the graph as graph.json: the declared inputs in this order, then the captures in
  /// theirs, and the outputs from `first` on.
  std::string text(const std::vector<std::size_t>& order, const std::vector<ValueId>& captures,
                   std::size_t first = 0) {
    auto& model = impl_of(inner_.graph_).edit().model;
    model.inputs.clear();
    for (const auto i : order) model.inputs.push_back(inputs_[i]);
    for (const auto value : captures) model.inputs.push_back(inner_.captured({value, {}, {}}));
    for (auto i = first; i < values_.size(); ++i)
      inner_.builder_.output(fmt::format("output_{}", i), values_[i]);
    return inner_.graph_.to_json();
  }

  /// Adds a node to the outer graph. It is never evaluated at import, because it may not terminate.
  static std::vector<Operand> add(NodeImport& node, const char* op, std::vector<Operand> inputs,
                                  const std::vector<ValueId>& captures,
                                  const Attributes& attributes) {
    auto& outer = node.importer();
    std::vector<ValueId> values;
    values.reserve(inputs.size() + captures.size());
    for (auto& input : inputs) values.push_back(outer.value_of(input));
    values.insert(values.end(), captures.begin(), captures.end());
    return outer.add_node({.op = op,
                           .name = {},
                           .inputs = std::move(values),
                           .named_inputs = {},
                           .attributes = attributes},
                          node.name());
  }

 private:
  // Removes the model's path from the message, because files would store it.
  void fail(const Failure& failure) {
    failure_ = failure;
    std::string message = failure.what();
    if (const auto path = node_.importer().model().path.string() + ": "; message.starts_with(path))
      message.erase(0, path.size());
    node_.importer().note(fmt::format("a branch of {} cannot run: {}", node_.label(), message));
    const Attributes attributes{{"message", std::move(message)},
                                {"outputs", static_cast<std::int64_t>(graph_.outputs.size())}};
    results_ = inner_.add_node({.op = "tenon.fail",
                                .name = {},
                                .inputs = {},
                                .named_inputs = {},
                                .attributes = attributes},
                               {});
    for (const auto& result : results_) values_.push_back(result.value);
  }

  NodeImport& node_;
  const proto::Graph& graph_;
  Importer inner_;
  std::optional<Failure> failure_;
  std::vector<ValueId> inputs_, values_;
  std::vector<Operand> results_;
};

namespace {

using Order = std::vector<std::size_t>;

void set_outputs(NodeImport& node, const std::vector<Operand>& made) {
  for (std::size_t i = 0; i < made.size(); ++i) node.output(i, made[i]);
}

void if_else(NodeImport& node) {
  auto condition = node.input(0);
  const auto &then = node.graph("then_branch"), &otherwise = node.graph("else_branch");
  for (const auto* branch : {&then, &otherwise}) {
    node.require(branch->inputs.empty(), "its branches must have no inputs");
    node.require(branch->outputs.size() == node.node().outputs.size(),
                 fmt::format("a branch has {} outputs, but the node has {}", branch->outputs.size(),
                             node.node().outputs.size()));
  }
  if (condition.known()) {
    node.require(condition.elements.dtype() == boolean && condition.elements.size() == 1,
                 "its condition must be one boolean");
    return set_outputs(node, node.inlined(condition.elements.values<bool>()[0] ? then : otherwise));
  }
  const auto first = SubgraphImport::read_branch(node, then),
             second = SubgraphImport::read_branch(node, otherwise);
  if (!first || !second) return;
  auto &one = *first, &other = *second;
  if (one.failure() && other.failure()) throw NodeFailure(*one.failure());
  bool same = !one.failure() && !other.failure();
  for (std::size_t i = 0; i < one.results(); ++i) {
    auto type = one.type(i);
    same = same && is_known(type) && !generalize(type, other.type(i));
  }
  auto captures = one.captures();
  std::unordered_set<ValueId> known(captures.begin(), captures.end());
  for (const auto value : other.captures())
    if (known.insert(value).second) captures.push_back(value);
  // the operators need at least one value
  if (captures.empty()) captures.push_back(node.importer().value_of(condition));
  for (const auto value : captures) one.capture(value), other.capture(value);
  set_outputs(node,
              SubgraphImport::add(node, same ? "tenon.if" : "tenon.branch", {condition}, captures,
                                  {{"then", one.text({}, captures)},
                                   {"else", other.text({}, captures)},
                                   {"outputs", static_cast<std::int64_t>(one.results())}}));
}

/// The components of a Loop: limit, condition and carried values.
struct LoopComponents {
  explicit LoopComponents(NodeImport& node) : body(node.graph("body")) {
    node.require(node.inputs() >= 2,
                 "it needs a trip count and a condition; use empty names to omit them");
    limit = node.has(0) ? node.input(0)
                        : node.constant(Tensor::from({std::int64_t{INT64_MAX}}, Shape::scalar()));
    condition = node.has(1) ? node.input(1) : one(true);
    for (std::size_t i = 2; i < node.inputs(); ++i) carried.push_back(node.input(i));
    node.require(body.inputs.size() == carried.size() + 2,
                 fmt::format("its body has {} inputs, but needs {}", body.inputs.size(),
                             carried.size() + 2));
    node.require(body.outputs.size() > carried.size() && body.outputs.size() >= 2,
                 fmt::format("its body has {} outputs, too few for {} carried values",
                             body.outputs.size(), carried.size()));
    node.require(body.outputs.size() - 1 == node.node().outputs.size(),
                 fmt::format("its body has {} outputs, so the node needs one fewer, but it has {}",
                             body.outputs.size(), node.node().outputs.size()));
  }
  std::int64_t outputs() const { return static_cast<std::int64_t>(body.outputs.size()) - 1; }

  const proto::Graph& body;
  Operand limit{}, condition{};
  std::vector<Operand> carried{};
};

bool is_flag(const Operand& condition) {
  return condition.known() && condition.elements.dtype() == boolean &&
         condition.elements.size() == 1;
}

// True if the condition never changes and all shapes are known, so that only the trip count
// decides.
bool is_scan(const LoopComponents& components, const SubgraphImport& body) {
  const auto is_always_true = [](const Operand& condition) {
    return is_flag(condition) && condition.elements.values<bool>()[0];
  };
  const bool passed_on = body.result(0).value == body.declared(1);
  if (!is_always_true(components.condition) || (!passed_on && !is_always_true(body.result(0))))
    return false;
  if (components.limit.known() &&
      (components.limit.elements.dtype() != i64 || components.limit.elements.size() != 1 ||
       components.limit.elements.values<std::int64_t>()[0] > max_rows))
    return false;
  for (std::size_t i = 1; i < body.results(); ++i)
    if (!is_known(body.type(i))) return false;
  return true;
}

Operand as_scalar(NodeImport& node, const Operand& operand) {
  const auto shape = node.shape(operand);
  if (shape.has_rank() && shape.rank() == 0) return operand;
  return node.add("tenon.reshape", std::vector{operand}, {{"shape", std::vector<std::int64_t>{}}});
}

void add_loop(NodeImport& node, const LoopComponents& components, SubgraphImport& body) {
  const auto carries = static_cast<std::int64_t>(components.carried.size());
  const auto captures = body.captures();
  Order order;
  for (std::size_t i = 0; i < components.carried.size(); ++i) order.push_back(i + 2);
  std::vector<Operand> inputs;
  if (is_scan(components, body)) {
    const auto zero = node.constant(Tensor::from({std::int64_t{0}}, Shape::scalar()));
    const auto step = node.constant(Tensor::from({std::int64_t{1}}, Shape::scalar()));
    inputs = components.carried;
    inputs.push_back(
        node.add("tenon.range", std::vector{zero, as_scalar(node, components.limit), step}));
    inputs.push_back(one(true));
    order.insert(order.end(), {0, 1});
    return set_outputs(node, SubgraphImport::add(node, "tenon.scan", std::move(inputs), captures,
                                                 {{"body", body.text(order, captures, 1)},
                                                  {"carries", carries},
                                                  {"scanned", 1},
                                                  {"outputs", components.outputs()}}));
  }
  inputs = {components.limit, components.condition};
  inputs.insert(inputs.end(), components.carried.begin(), components.carried.end());
  order.insert(order.begin(), {0, 1});
  auto stays = captures;
  if (components.carried.empty() && stays.empty()) {  // the operators need at least one value
    auto condition = components.condition;
    stays.push_back(node.importer().value_of(condition));
  }
  set_outputs(node, SubgraphImport::add(node, "tenon.loop", std::move(inputs), stays,
                                        {{"body", body.text(order, stays)},
                                         {"carries", carries},
                                         {"outputs", components.outputs()}}));
}

// Sequences and optionals exist during import only, so the iterations become nodes one by one.
void unroll_loop(NodeImport& node, const LoopComponents& components) {
  const auto& limit = components.limit;
  node.require(limit.known() && limit.elements.dtype() == i64 && limit.elements.size() == 1,
               "it carries a sequence, but its trip count is not known when the model is imported");
  const auto trips = limit.elements.values<std::int64_t>()[0];
  const auto carries = components.carried.size();
  auto carried = components.carried;
  auto again = components.condition;
  std::vector<std::vector<Operand>> rows(components.body.outputs.size() - 1 - carries);
  for (std::int64_t i = 0; i < trips; ++i) {
    node.require(
        is_flag(again),
        "it carries a sequence, but its condition is not known when the model is imported");
    if (!again.elements.values<bool>()[0]) break;
    std::vector<Operand> inputs{node.constant(Tensor::from({i}, Shape::scalar())), again};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    auto made = node.inlined(components.body, inputs);
    if (made.empty()) return;  // operators are missing
    again = made[0];
    std::copy_n(made.begin() + 1, carries, carried.begin());
    for (std::size_t row = 0; row < rows.size(); ++row)
      rows[row].push_back(
          node.add("tenon.expand_dims", std::vector{made[1 + carries + row]}, {{"axis", {0}}}));
  }
  set_outputs(node, carried);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    node.require(!rows[row].empty(), "it has no iteration, so its scan outputs have no shape");
    node.output(carries + row, node.add("tenon.concat", rows[row], {{"axis", 0}}));
  }
}

// The body is imported again with wider types until its results fit its inputs.
void loop(NodeImport& node) {
  const LoopComponents components(node);
  if (!std::all_of(components.carried.begin(), components.carried.end(),
                   [](const Operand& operand) { return operand.is_tensor(); }))
    return unroll_loop(node, components);
  std::vector<tenon_type> types;
  for (const auto& operand : components.carried) types.push_back(node.importer().type_of(operand));
  for (bool fits = false; !fits;) {
    InferenceBudget::charge(import_cost);
    SubgraphImport body(node, components.body);
    body.input(type_of(i64, Shape::scalar()));
    body.input(type_of(boolean, Shape::scalar()));
    for (const auto& type : types) body.input(type);
    if (!body.import()) return;
    fits = true;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto made = body.type(i + 1);
      node.require(made.dtype == types[i].dtype,
                   fmt::format("the type of its loop-carried value {} changes from {} to {}", i,
                               to_string(types[i]), to_string(made)));
      if (generalize(types[i], made)) fits = false;
    }
    if (fits) add_loop(node, components, body);
  }
}

/// Axes and directions of a Scan: one of each per scanned input or output.
struct Directions {
  Directions(NodeImport& node, const char* axes_name, const char* directions_name,
             std::size_t count)
      : axes(node.integers(axes_name).value_or(std::vector<std::int64_t>(count))),
        directions(node.integers(directions_name).value_or(std::vector<std::int64_t>(count))) {
    node.require(axes.size() == count,
                 fmt::format("its attribute '{}' has {} numbers, but needs {}", axes_name,
                             axes.size(), count));
    node.require(directions.size() == count,
                 fmt::format("its attribute '{}' has {} numbers, but needs {}", directions_name,
                             directions.size(), count));
    for (const auto direction : directions)
      node.require(direction == 0 || direction == 1,
                   fmt::format("its attribute '{}' contains {}; only 0 and 1 are valid",
                               directions_name, direction));
  }
  bool all_back() const {
    return std::all_of(directions.begin(), directions.end(),
                       [](std::int64_t direction) { return direction == 1; });
  }
  std::vector<std::int64_t> axes, directions;
};

// Moves an axis to the front, or the front axis back to its position.
Operand moved(NodeImport& node, const Operand& x, std::int64_t axis_value, bool to_front) {
  if (axis_value == 0) return x;
  const int rank = node.rank(x), axis = node.axis(axis_value, rank);
  std::vector<std::int64_t> axes;
  for (int a = 0; a < rank; ++a)
    if (to_front)
      axes.push_back(a == 0 ? axis : a <= axis ? a - 1 : a);
    else
      axes.push_back(a < axis ? a + 1 : a == axis ? 0 : a);
  return node.add("tenon.transpose", std::vector{x}, {{"axes", axes}});
}

Operand reversed(NodeImport& node, const Operand& x) {
  return node.add("tenon.slice", std::vector{x},
                  {{"axes", {0}}, {"begin", {-1}}, {"end", {INT64_MIN}}, {"step", {-1}}});
}

void scan(NodeImport& node) {
  const auto& graph = node.graph("body");
  const auto scanned = node.integer("num_scan_inputs", 0);
  node.require(scanned >= 1 && static_cast<std::size_t>(scanned) <= node.inputs(),
               "its num_scan_inputs does not match its inputs");
  const auto rows = static_cast<std::size_t>(scanned), carries = node.inputs() - rows;
  node.require(graph.inputs.size() == node.inputs(),
               fmt::format("its body has {} inputs, but the node has {}", graph.inputs.size(),
                           node.inputs()));
  node.require(graph.outputs.size() == node.node().outputs.size() &&
                   graph.outputs.size() >= std::max<std::size_t>(carries, 1),
               fmt::format("its body has {} outputs, but the node has {}", graph.outputs.size(),
                           node.node().outputs.size()));
  const Directions in(node, "scan_input_axes", "scan_input_directions", rows);
  const Directions out(node, "scan_output_axes", "scan_output_directions",
                       graph.outputs.size() - carries);
  const bool reverse = in.all_back() && out.all_back();
  SubgraphImport body(node, graph);
  std::vector<Operand> inputs;
  for (std::size_t i = 0; i < carries; ++i) {
    inputs.push_back(node.input(i));
    body.input(node.importer().type_of(inputs.back()));
  }
  for (std::size_t i = 0; i < rows; ++i) {
    auto x = moved(node, node.input(carries + i), in.axes[i], true);
    if (in.directions[i] == 1 && !reverse) x = reversed(node, x);
    const auto whole = node.shape(x);
    node.require(whole.rank() != 0,
                 fmt::format("its input {} is a scalar, which has no axis to scan", carries + i));
    body.input(type_of(node.dtype(x),
                       whole.has_rank() ? Shape(whole.begin() + 1, whole.rank() - 1) : Shape()));
    inputs.push_back(std::move(x));
  }
  if (!body.import()) return;
  Order order;
  for (std::size_t i = 0; i < node.inputs(); ++i) order.push_back(i);
  const auto captures = body.captures();
  auto made = SubgraphImport::add(node, "tenon.scan", std::move(inputs), captures,
                                  {{"body", body.text(order, captures)},
                                   {"carries", static_cast<std::int64_t>(carries)},
                                   {"scanned", scanned},
                                   {"outputs", static_cast<std::int64_t>(graph.outputs.size())},
                                   {"reverse", reverse}});
  for (auto i = carries; i < made.size(); ++i) {
    if (out.directions[i - carries] == 1 && !reverse) made[i] = reversed(node, made[i]);
    made[i] = moved(node, made[i], out.axes[i - carries], false);
  }
  set_outputs(node, made);
}

void scan_of_batches(NodeImport& node) {
  node.refuse("Scan before opset 9 runs over batches of sequences, which is not supported",
              "convert the model to opset 9 or later");
}

const Composition control_flow_read[] = {
    {"If", if_else}, {"Loop", loop}, {"Scan", scan_of_batches}, {"Scan", scan, 9}};

}  // namespace
}  // namespace tenon::onnx
