// Compares both sides of each rewrite rule on random inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/calls/test_call.hpp"
#include "device/devices.hpp"
#include "graph/rewrite/rewriting.hpp"
#include "graph/rewrite/subgraph.hpp"
#include "run/graph_impl.hpp"
#include "run/session/optimized_graph.hpp"
#include "tensor/dtype_traits.hpp"

namespace tenon::checks {
namespace {

DType dtype_for(const OperatorInfo& info) {
  // 8 bits first among integers: operators on quantized values have few others
  for (const auto dtype :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::u8, DType::i32, DType::i64})
    if (allows(info.types, dtype)) return dtype;
  return DType::f32;
}

/// Assumed shape of a variable whose shape is not determined, relative to the value it is combined
/// with: the same shape, a vector along the last axis, one element, or one element per channel with
/// the rank of that value.
enum class AssumedShape { whole, row, element, channels };

/// `whole`: of the value that it is combined with.
Shape assumed(AssumedShape kind, const Shape& whole) {
  if (kind == AssumedShape::whole) return whole;
  if (kind != AssumedShape::channels) return {kind == AssumedShape::row ? whole[-1] : 1};
  auto shape = Shape::of_rank(whole.rank());
  for (int axis = 0; axis < whole.rank(); ++axis) shape.set(axis, axis == 1 ? whole[axis] : 1);
  return shape;
}

/// How the graph of a rule's pattern is built.
struct PatternOptions {
  bool with_optional = true;
  Draws draws = Draws::positive;
  // shape of the variables of innermost calls whose operators have no fitting example
  Shape innermost{};
  AssumedShape undetermined = AssumedShape::whole;
  std::size_t example = 0;                // of the innermost call's operator
  std::map<std::size_t, Shape> shapes{};  // known shapes of variables
};

/// A graph of a rule's pattern.
class PatternGraph {
 public:
  PatternGraph(Host& host, const ResolvedRule& rule, const PatternOptions& options,
               std::uint64_t seed)
      : graph(host),
        rule_(rule),
        options_(options),
        seed_(seed),
        values_(rule.rule.variables.size()) {
    for (std::size_t call = 0; call < rule.pattern.size(); ++call) add(call);
    // makes the result a node's output, as rules replace values
    graph.output("checked",
                 graph.add("tenon.cast_storage", {results_.back()}, {{"storage", "dense"}}));
  }

  /// Shapes of the connected variables.
  std::map<std::size_t, Shape> shapes() const {
    std::map<std::size_t, Shape> found;
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (!values_[i].empty()) found[i] = graph.shape(values_[i]);
    return found;
  }
  /// Shape of the inner call's result that is combined with the variable.
  Shape combined_shape(std::size_t variable) const {
    const auto found = combined_with_.find(variable);
    return found == combined_with_.end() ? Shape() : graph.shape(found->second);
  }

  Graph graph;
  NamedTensors inputs;

 private:
  void add(std::size_t call) {
    const auto& text = rule_.rule.pattern[call];
    const auto& resolved = rule_.pattern[call];
    const auto& info = *resolved.op;
    std::vector<Value> arguments;
    for (std::size_t i = 0; i < resolved.inputs.size(); ++i) {
      const int position = resolved.inputs[i];
      arguments.push_back(
          position < 0
              ? Value()
              : value_of(text, text.inputs[static_cast<std::size_t>(position)].operand, info, i));
    }
    if (info.variadic())
      while (!arguments.empty() && arguments.back().empty()) arguments.pop_back();
    results_.push_back(graph.add(info.full_name(), arguments, parameters(text, resolved),
                                 fmt::format("node_{}", call)));
    for (const auto& input : text.inputs)
      for (const auto& other : text.inputs)
        if (!input.operand.call && other.operand.call)
          combined_with_[input.operand.index] = results_[other.operand.index];
  }

  // Parameters from the pattern, then from an example of the operator, then small legal values.
  Attributes parameters(const RewriteRule::Call& text, const ResolvedRule::Call& resolved) const {
    const auto& info = *resolved.op;
    Attributes from_pattern;
    for (const auto& param : text.params)
      if (!param.capture) from_pattern.set(param.name, param.value);
    const auto mentioned = [&](const std::string& name) {
      return std::any_of(text.params.begin(), text.params.end(),
                         [&](const auto& param) { return param.name == name; });
    };
    const auto captured = [&](const std::string& name) {
      return std::any_of(text.params.begin(), text.params.end(),
                         [&](const auto& param) { return param.name == name && param.capture; });
    };
    Attributes others;
    if (const auto* const example = example_of(info))
      for (const auto& [name, value] : parameters_of(*example))
        if (captured(name) || (!mentioned(name) && text.rest)) others.set(name, value);
    const auto required = required_sets(info);
    return merged(merged(from_pattern, others), required.empty() ? Attributes() : required.front());
  }

  // The example to use, and after it the others; null if there are none.
  const ExampleInfo* example_of(const OperatorInfo& info, std::size_t next = 0) const {
    return info.examples.empty() ? nullptr
                                 : &info.examples[(options_.example + next) % info.examples.size()];
  }

  Value value_of(const RewriteRule::Call& text, const RewriteRule::Operand& operand,
                 const OperatorInfo& info, std::size_t input) {
    if (operand.call) return results_[operand.index];
    const auto& variable = rule_.rule.variables[operand.index];
    auto& value = values_[operand.index];
    if (variable.number)
      return value = graph.constant(fmt::format("number_{}", operand.index),
                                    number_tensor(dtype_for(info), *variable.number));
    if (!value.empty() || (variable.optional && !options_.with_optional)) return value;
    const auto shape = shape_for(text, operand.index, info, input);
    const auto& declared = info.inputs[std::min(input, info.inputs.size() - 1)];
    const auto dtype = declared.types ? dtype_in(*declared.types) : dtype_for(info);
    if (!shape.known()) return value = graph.input(variable.name, dtype, shape);
    const auto tensor = Tensor::empty(dtype, shape);
    if (options_.draws == Draws::positive)
      fill_with_numbers(tensor, seed_ + operand.index, declared.types ? 2 : 0);
    else
      fill_with_mixed_numbers(tensor, Magnitude::ordinary, seed_ + operand.index);
    if (variable.constant) return value = graph.variable(variable.name, tensor.clone());
    inputs.emplace(variable.name, tensor);
    return value = graph.input(variable.name, dtype, shape);
  }
  static Tensor number_tensor(DType dtype, double number) {
    return dtype == DType::f64
               ? Tensor::from(std::vector<double>{number}, Shape::scalar())
               : Tensor::from(std::vector<float>{static_cast<float>(number)}, Shape::scalar());
  }
  static DType dtype_in(DTypeMask mask) {
    for (const auto dtype : {DType::f32, DType::i32, DType::i64, DType::boolean, DType::u8})
      if (allows(mask, dtype)) return dtype;
    return DType::f32;
  }

  Shape shape_for(const RewriteRule::Call& text, std::size_t variable, const OperatorInfo& info,
                  std::size_t input) const {
    if (const auto known = options_.shapes.find(variable); known != options_.shapes.end())
      return known->second;
    const bool innermost = std::none_of(text.inputs.begin(), text.inputs.end(),
                                        [](const auto& one) { return one.operand.call; });
    if (!innermost) return {};
    if (options_.innermost.has_rank())
      return input == 0 ? options_.innermost : assumed(options_.undetermined, options_.innermost);
    const auto name = info.inputs[std::min(input, info.inputs.size() - 1)].name;
    for (std::size_t i = 0; i < info.examples.size(); ++i)
      for (const auto& one : example_of(info, i)->inputs)
        if (one.name == name) return Shape(one.shape.data(), static_cast<int>(one.shape.size()));
    return info.elementwise ? Shape{3, 5} : Shape();
  }

  const ResolvedRule& rule_;
  const PatternOptions& options_;
  const std::uint64_t seed_;
  std::vector<Value> values_, results_;
  std::map<std::size_t, Value> combined_with_;
};

/// Builds the graph with all shapes known; undetermined ones follow from the inner call's result.
std::optional<PatternGraph> complete_graph(Host& host, const ResolvedRule& rule,
                                           PatternOptions& options, std::uint64_t seed) {
  for (int round = 0; round < 3; ++round) {
    PatternGraph pattern(host, rule, options, seed);
    options.shapes = pattern.shapes();
    bool known = true;
    for (auto& [variable, shape] : options.shapes) {
      if (shape.known()) continue;
      shape = pattern.combined_shape(variable);
      if (options.undetermined != AssumedShape::whole && shape.known() && shape.rank() > 0)
        shape = assumed(options.undetermined, shape);
      known = false;
    }
    if (known && round > 0) return pattern;
  }
  return std::nullopt;
}

/// Applies only this rule to the graph; nothing if it does not match.
std::optional<Graph> replaced(Host& host, const Graph& graph, const RuleSet& rule) {
  const auto& impl = impl_of(graph);
  std::vector<Tensor> tensors = tensors_of(impl.model());
  std::vector<bool> unchanging(tensors.size());
  for (ValueId id = 0; id < unchanging.size(); ++id)
    unchanging[id] = tensors[id] && impl.model().values[id].role != Role::state;
  Rewriting rewriting(impl.current, {.optimize = Optimize::full,
                                     .device = &find_device("cpu"),
                                     .tensors = &tensors,
                                     .unchanging = &unchanging,
                                     .rules = &rule,
                                     .plugins = &impl_of(host).plugins()});
  if (!rewriting.begin()) return std::nullopt;
  rewriting.apply_rules();
  const auto result = rewriting.finish();
  const bool acted = !result->model.rewritten_from.empty() || !result->model.replaced_nodes.empty();
  if (!acted) return std::nullopt;
  return graph_of(impl_of(host), copy_graph(result->model, result->binding, tensors));
}

std::string compare_sides(const Tensor& pattern, const Tensor& replacement, bool exact) {
  const auto left = doubles_of(pattern), right = doubles_of(replacement);
  if (pattern.shape() != replacement.shape()) return "the two sides have different shapes";
  double largest = 0, max_difference = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (std::isfinite(left[i])) largest = std::max(largest, std::fabs(left[i]));
    const double difference = std::isnan(left[i]) && std::isnan(right[i]) ? 0
                              : left[i] == right[i]                       ? 0
                                                    : std::fabs(left[i] - right[i]);
    if (difference > max_difference || std::isnan(difference))
      max_difference = std::isnan(difference) ? INFINITY : difference, where = i;
  }
  if (exact && !same_bits(pattern, replacement))
    return fmt::format(
        "element {} is {} in the pattern and {} in the replacement, but an exact rule must not "
        "change any bit",
        where, left[where], right[where]);
  const auto allowed = traits_of(pattern.dtype()).tolerance.summation * largest;
  if (max_difference <= allowed) return {};
  return fmt::format(
      "element {} is {} in the pattern and {} in the replacement; the difference of {:.3g} exceeds "
      "the tolerance of {:.3g}",
      where, left[where], right[where], max_difference, allowed);
}

// The results of trying a rule; empty if it could not be tried.
struct RuleResult {
  int graphs = 0;
  std::string fault, refusal;
};

void try_rule(Host& host, const ResolvedRule& rule, const RuleSet& rule_set, PatternOptions options,
              std::uint64_t seed, RuleResult& result) {
  try {
    auto pattern = complete_graph(host, rule, options, seed);
    if (!pattern) {
      result.refusal = "the shapes of its inputs are unknown";
      return;
    }
    auto graph = pattern->graph;
    if (!graph.states().empty()) {  // initializes them
      Session training(graph, {.training = true});
      training.run(pattern->inputs);
      graph = training.graph();
    }
    graph.bind();
    const auto rewritten = replaced(host, graph, rule_set);
    if (!rewritten) {
      result.refusal =
          "it does not apply to its own pattern, because its replacement rejects these inputs or "
          "has other output types";
      return;
    }
    const SessionOptions as_is{.optimize = Optimize::none};
    const auto original = Session(graph, as_is).run(pattern->inputs).at("checked");
    const auto replacement = Session(*rewritten, as_is).run(pattern->inputs).at("checked");
    ++result.graphs;
    result.fault = compare_sides(original, replacement, rule.rule.exact);
  } catch (const Failure& failure) {
    result.refusal = failure.what();
  }
}

}  // namespace

Outcome check_rules(const CheckedOperator& checked) {
  const auto& info = *checked.op.info;
  if (info.rewrites.empty()) return skipped("it has no rewrite rules");
  Host host(host_options(checked));
  add_operators(host, checked);
  int graphs = 0;
  std::string missing;  // the error if a rule needs an operator of another plugin
  for (const auto& each : info.rewrites) {
    const RuleSet rule_set(host.catalog(), info.full_name(), each.name);
    if (!rule_set.faults().empty() && rule_set.faults().front().lacks_operator) {
      missing = rule_set.faults().front().sentence;
      continue;
    }
    if (!rule_set.faults().empty()) return failed(rule_set.faults().front().sentence);
    if (rule_set.empty()) return failed(fmt::format("rule '{}' is not in the catalog", each.name));
    RuleResult result;
    std::size_t example = 0;
    for (const auto& innermost :
         {Shape(), Shape(), Shape{4, 4}, Shape{2, 4, 4}, Shape{2, 3, 4, 4}, Shape{3, 3, 3, 3}}) {
      if ((innermost.has_rank() || example > 0) && result.graphs > 0) break;
      for (const auto undetermined :
           {AssumedShape::whole, AssumedShape::row, AssumedShape::element, AssumedShape::channels})
        for (const bool optional : {true, false})
          for (const auto draws : {Draws::positive, Draws::mixed}) {
            try_rule(host, rule_set[0], rule_set,
                     {optional, draws, innermost, undetermined, example, {}}, checked.seed, result);
            if (!result.fault.empty())
              return failed(fmt::format("rule '{}': {}", each.name, result.fault));
          }
      if (!innermost.has_rank()) ++example;
    }
    if (result.graphs == 0)
      return {Verdict::untried,
              fmt::format("rule '{}' could not be tried: {}", each.name, result.refusal)};
    graphs += result.graphs;
  }
  if (!missing.empty()) return skipped(missing);
  return passed(
      fmt::format("{} on {}", counted(info.rewrites.size(), "rule"), counted(graphs, "graph")));
}

}  // namespace tenon::checks
