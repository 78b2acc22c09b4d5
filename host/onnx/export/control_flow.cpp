// Exports if, branch, while, loop and scan as If, Loop and Scan; their graph parameters become
// subgraphs. Loop-invariant inputs are not passed, because ONNX subgraphs see the names of the
// enclosing graph.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "onnx/export/element_types.hpp"
#include "onnx/export/exporter.hpp"
#include "plan/plan.hpp"
#include "plan/tensor_table.hpp"
#include "run/control_flow/subgraph.hpp"
#include "run/graph_impl.hpp"

namespace tenon::onnx {
namespace {

using written::Texts;
using ValueTypes = std::vector<tenon_type>;

/// A graph parameter, specialized for these input types. Throws Failure if it cannot run on them.
class InnerExport {
 public:
  InnerExport(ExportJob& job, const std::string& text, const ValueTypes& types)
      : job_(job),
        graph_(impl_of(Graph::from_json(job.host, text)).completed()),
        model_(impl_of(graph_).model()) {
    if (const auto message = fail_message(graph_)) throw Failure(FailureKind::failed, *message);
    std::map<ValueId, tenon_type> arguments;
    for (std::size_t i = 0; i < types.size(); ++i) arguments.emplace(model_.inputs[i], types[i]);
    for (auto& [input, type] : arguments) type.present = model_.values[input].type.present;
    const auto found =
        infer_with(model_, impl_of(graph_).binding(), tensors_of(model_), arguments).types;
    for (ValueId value = 0; value < model_.values.size(); ++value)
      model_.values[value].type = found[value];
  }

  /// Gradients have no ONNX operators.
  bool is_forward() const {
    return std::all_of(model_.nodes.begin(), model_.nodes.end(),
                       [](const NodeRecord& node) { return node.pass == Pass::forward; });
  }
  std::string label(std::size_t input) const { return value_label(model_, model_.inputs[input]); }
  const tenon_type& type(std::size_t output) const {
    return model_.values[model_.outputs[output].second].type;
  }

  /// Adds the graph's nodes with its inputs under these names. Returns the names of its outputs;
  /// with `own_names` each is the output of a node of this graph.
  Texts add(Scope& scope, const Texts& inputs, bool own_names) {
    GraphExport to(model_, impl_of(graph_).binding(), scope, job_);
    for (std::size_t i = 0; i < inputs.size(); ++i) to.name_value(model_.inputs[i], inputs[i]);
    for (ValueId value = 0; value < model_.values.size(); ++value)
      if (const auto tensor = model_.values[value].tensor; tensor != none)
        to.name_value(value, scope.constant(value_label(model_, value), model_.tensors[tensor]));
    to.add_nodes(std::vector<bool>(model_.nodes.size(), true));
    Texts outputs;
    for (const auto& [name, value] : model_.outputs) {
      auto made = to.name_of(value);
      const bool is_new = model_.values[value].role == Role::output &&
                          std::find(outputs.begin(), outputs.end(), made) == outputs.end();
      if (own_names && !is_new) {
        const auto copy = scope.free_name(made);
        scope.add({.type = "Identity", .inputs = {made}, .outputs = {copy}}, job_.opset);
        made = copy;
      }
      outputs.push_back(std::move(made));
    }
    return outputs;
  }

 private:
  ExportJob& job_;
  const Graph graph_;
  GraphModel model_;
};

/// Writes one control flow node.
class FlowExport {
 public:
  FlowExport(const ExportedNode& node, Scope& scope, ExportJob& job)
      : node_(node),
        scope_(scope),
        job_(job),
        node_export_(node, scope, job.opset),
        count_(node.inputs.size()) {}

  bool choice() {
    const ValueTypes types(node_.types.begin() + 1, node_.types.end());
    std::optional<InnerExport> branches[2];
    std::string failures[2];
    for (std::size_t i = 0; i < 2; ++i) {
      try {
        branches[i].emplace(job_, node_export_.text(i == 0 ? "then" : "else"), types);
      } catch (const Failure& failure) {
        failures[i] = failure.what();
      }
      if (branches[i] && !branches[i]->is_forward()) return false;
    }
    NodeExport::Attributes graphs;
    for (std::size_t i = 0; i < 2; ++i) {
      Scope inside(scope_);
      auto& branch = branches[i];
      auto outputs =
          branch ? values(branch->add(inside, Texts(node_.inputs.begin() + 1, node_.inputs.end()),
                                      true),
                          *branch)
                 : failing(inside, failures[i]);
      graphs.push_back(
          graph(i == 0 ? "then_branch" : "else_branch", inside, {}, std::move(outputs)));
    }
    return add("If", {node_.inputs[0]}, std::move(graphs));
  }

  // The condition is evaluated before the first iteration and after each one.
  bool while_loop() {
    // reaching the limit is an error, which Loop cannot express
    if (node_export_.integer("limit") != INT64_MAX) return false;
    InnerExport test(job_, node_export_.text("condition"), node_.output_types),
        step(job_, node_export_.text("body"), node_.output_types);
    if (!test.is_forward() || !step.is_forward()) return false;
    const auto first = as_scalar(test.add(scope_, node_.inputs, false)[0], test.type(0), scope_);
    Scope inside(scope_);
    auto inputs = counters(inside);
    const auto carried = declared(step, 0, count_, inside);
    auto outputs = values(step.add(inside, names(carried), true), step);
    const auto again = as_scalar(test.add(inside, names(outputs), true)[0], test.type(0), inside);
    outputs.insert(outputs.begin(), {again, type_of(boolean, Shape::scalar()), {}});
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    Texts arguments{"", first};
    arguments.insert(arguments.end(), node_.inputs.begin(), node_.inputs.end());
    return add("Loop", std::move(arguments),
               {graph("body", inside, std::move(inputs), std::move(outputs))});
  }

  bool loop() {
    const auto carries = static_cast<std::size_t>(node_export_.integer("carries"));
    ValueTypes types{type_of(i64, Shape::scalar()), type_of(boolean, Shape::scalar())};
    for (std::size_t i = 2; i < count_; ++i)
      types.push_back(i - 2 < carries ? node_.output_types[i - 2] : node_.types[i]);
    InnerExport step(job_, node_export_.text("body"), types);
    if (!step.is_forward()) return false;
    Scope inside(scope_);
    auto inputs = counters(inside);
    const auto carried = declared(step, 2, carries, inside);
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    auto arguments = names(inputs);
    arguments.insert(arguments.end(),
                     node_.inputs.begin() + static_cast<std::ptrdiff_t>(2 + carries),
                     node_.inputs.end());
    auto outputs = values(step.add(inside, arguments, true), step);
    outputs[0] = {
        as_scalar(outputs[0].name, step.type(0), inside), type_of(boolean, Shape::scalar()), {}};
    const auto end = node_.inputs.begin() + static_cast<std::ptrdiff_t>(2 + carries);
    return add("Loop", Texts(node_.inputs.begin(), end),
               {graph("body", inside, std::move(inputs), std::move(outputs))});
  }

  bool scan() {
    const auto carries = static_cast<std::size_t>(node_export_.integer("carries")),
               scanned = static_cast<std::size_t>(node_export_.integer("scanned"));
    auto types = node_.types;
    if (types[carries].rank > 0 && types[carries].dims[0] == 0 &&
        std::all_of(node_.output_types.begin(), node_.output_types.end(),
                    [](const tenon_type& type) { return is_known(type); }))
      return pass_on(carries);
    for (std::size_t i = 0; i < carries; ++i) types[i] = node_.output_types[i];
    for (auto i = carries; i < carries + scanned; ++i) {
      if (types[i].rank < 1) return false;
      const auto whole = shape_of(types[i]);
      types[i] =
          type_of(static_cast<DType>(types[i].dtype), Shape(whole.begin() + 1, whole.rank() - 1));
    }
    InnerExport step(job_, node_export_.text("body"), types);
    if (!step.is_forward()) return false;
    Scope inside(scope_);
    std::vector<written::Value> inputs;
    for (std::size_t i = 0; i < carries + scanned; ++i)
      inputs.push_back({inside.free_name(step.label(i)), types[i], {}});
    auto arguments = names(inputs);
    const auto stays = node_.inputs.begin() + static_cast<std::ptrdiff_t>(carries + scanned);
    arguments.insert(arguments.end(), stays, node_.inputs.end());
    auto outputs = values(step.add(inside, arguments, true), step);
    NodeExport::Attributes attributes{{"num_scan_inputs", static_cast<std::int64_t>(scanned)}};
    if (node_export_.flag("reverse")) {
      attributes.push_back({"scan_input_directions", std::vector<std::int64_t>(scanned, 1)});
      if (outputs.size() > carries)
        attributes.push_back(
            {"scan_output_directions", std::vector<std::int64_t>(outputs.size() - carries, 1)});
    }
    attributes.push_back(graph("body", inside, std::move(inputs), std::move(outputs)));
    return add("Scan", Texts(node_.inputs.begin(), stays), std::move(attributes));
  }

 private:
  /// Nodes that fail at run time, for a branch that cannot run: they gather an element of an empty
  /// tensor.
  std::vector<written::Value> failing(Scope& inside, const std::string& why) {
    job_.note(fmt::format("a branch of node '{}' cannot run; in the file it fails when taken: {}",
                          node_.name, why));
    std::vector<written::Value> outputs;
    for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
      const auto dtype = static_cast<DType>(node_.output_types[i].dtype);
      if (dtype == unknown_dtype) throw Failure(FailureKind::failed, why);
      const auto empty = inside.constant(node_.name + "/empty", Tensor::empty(dtype, {0}));
      const auto first =
          inside.constant(node_.name + "/first", Tensor::from({std::int64_t{0}}, Shape::scalar()));
      outputs.push_back({inside.free_name(node_.outputs[i]), type_of(dtype, Shape()), {}});
      inside.add({.type = "Gather",
                  .inputs = {empty, first},
                  .outputs = {outputs.back().name},
                  .name = inside.free_name(why)},
                 job_.opset);
    }
    return outputs;
  }
  static Texts names(const std::vector<written::Value>& values) {
    Texts found;
    for (const auto& value : values) found.push_back(value.name);
    return found;
  }
  static std::vector<written::Value> values(const Texts& names, const InnerExport& subgraph) {
    std::vector<written::Value> found;
    for (std::size_t i = 0; i < names.size(); ++i)
      found.push_back({names[i], subgraph.type(i), {}});
    return found;
  }
  /// The first two inputs of a Loop body: iteration number and condition.
  std::vector<written::Value> counters(Scope& inside) const {
    return {{inside.free_name(node_.name + "/run"), type_of(i64, Shape::scalar()), {}},
            {inside.free_name(node_.name + "/condition"), type_of(boolean, Shape::scalar()), {}}};
  }
  /// Names and types of carried values.
  std::vector<written::Value> declared(const InnerExport& step, std::size_t first,
                                       std::size_t count, Scope& inside) const {
    std::vector<written::Value> found;
    for (std::size_t i = 0; i < count; ++i)
      found.push_back({inside.free_name(step.label(first + i)), node_.output_types[i], {}});
    return found;
  }
  /// Writes a scan of zero steps as Identity nodes and empty constants, because onnxruntime does
  /// not support such a Scan.
  bool pass_on(std::size_t carries) {
    for (std::size_t i = 0; i < node_.outputs.size(); ++i) {
      const auto& type = node_.output_types[i];
      node_export_.alias_output(i < carries ? node_.inputs[i]
                                            : node_export_.constant(Tensor::zeros(
                                                  static_cast<DType>(type.dtype), shape_of(type))),
                                i);
    }
    return true;
  }
  /// Reshapes a condition of one element to a scalar, since Tenon also allows other ranks.
  std::string as_scalar(const std::string& condition, const tenon_type& type, Scope& scope) const {
    return type.rank == 0 ? condition
                          : NodeExport(node_, scope, job_.opset).reshaped(condition, {});
  }
  written::Attribute graph(const char* attribute, const Scope& inside,
                           std::vector<written::Value> inputs,
                           std::vector<written::Value> outputs) {
    scope_.adopt(inside);
    written::Attribute made{attribute};
    made.graph = std::make_shared<const written::Graph>(
        written::Graph{fmt::format("{}/{}", node_.name, attribute), inside.nodes, std::move(inputs),
                       std::move(outputs)});
    return made;
  }
  bool add(const char* type, Texts inputs, NodeExport::Attributes attributes) {
    scope_.add({.type = type,
                .inputs = std::move(inputs),
                .outputs = node_.outputs,
                .attributes = std::move(attributes),
                .name = node_.name},
               job_.opset);
    return true;
  }

  const ExportedNode& node_;
  Scope& scope_;
  ExportJob& job_;
  NodeExport node_export_;
  std::size_t count_;
};

}  // namespace

bool write_control_flow(const ExportedNode& node, Scope& scope, ExportJob& job) {
  if (node.info.space != "tenon") return false;
  const auto& name = node.info.name;
  const auto is_newer = [&](const tenon_type& type) {
    const auto dtype = static_cast<DType>(type.dtype);
    return job.opset < (dtype == bf16 ? 16 : first_opset(dtype));
  };
  if (std::any_of(node.types.begin(), node.types.end(), is_newer) ||
      std::any_of(node.output_types.begin(), node.output_types.end(), is_newer))
    return false;
  FlowExport flow(node, scope, job);
  if (name == "if" || name == "branch") return flow.choice();
  if (name == "while") return flow.while_loop();
  if (name == "loop") return flow.loop();
  return name == "scan" && flow.scan();
}

}  // namespace tenon::onnx
