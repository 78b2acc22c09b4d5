#include "graph/composition.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "graph/gradient/gradient.hpp"
#include "graph/gradient/gradient_graph.hpp"
#include "graph/gradient/second_derivative.hpp"
#include "graph/operators/operator_use.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon {
namespace {

constexpr std::size_t max_nodes =
    20000;  // added by one composed operator, including nested composed ones

/// The composed operators that this thread is currently expanding, outermost first, and the number
/// of nodes they added.
struct Depth {
  std::vector<std::string> operators;
  std::size_t nodes = 0;
};
thread_local Depth composing, differentiating;

// `a -> b -> c`; the middle of a long chain is left out.
std::string chain_of(std::span<const std::string> operators) {
  constexpr std::size_t max_shown = 16;
  if (operators.size() <= max_shown) return fmt::format("{}", fmt::join(operators, " -> "));
  return fmt::format("{} -> {} more -> {}", fmt::join(operators.first(max_shown - 1), " -> "),
                     operators.size() - max_shown, operators.back());
}

class Entered {
 public:
  Entered(Depth& depth, const LoadedOperator& op) : depth_(depth) {
    auto& open = depth.operators;
    auto name = op.info->full_name();
    if (const auto found = std::find(open.begin(), open.end(), name); found != open.end())
      throw Failure(FailureKind::plugin,
                    fmt::format("the composed operator '{}' contains itself: {} -> {}", name,
                                chain_of({found, open.end()}), name));
    if (open.empty()) depth.nodes = 0;
    open.push_back(std::move(name));
  }
  ~Entered() { depth_.operators.pop_back(); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Depth& depth_;
};

std::string output_name(const OperatorInfo& info, std::size_t i) {
  const bool counted = std::any_of(info.outputs.begin(), info.outputs.end(),
                                   [](const OutputInfo& output) { return !output.count.empty(); });
  return counted || i >= info.outputs.size() ? fmt::format("output {}", i)
                                             : fmt::format("output '{}'", info.outputs[i].name);
}

// Implicit variables and states of the added nodes would not belong to any node in a file.
void require_no_implicit_values(const GraphModel& model, NodeId id,
                                const std::vector<ValueId>& inputs) {
  const auto& node = model.nodes[id];
  for (auto edge = node.first_edge; edge < node.first_edge + node.input_count + node.state_count;
       ++edge) {
    const auto value = model.edges[edge];
    const bool state = edge >= node.first_edge + node.input_count;
    if (value == none || std::find(inputs.begin(), inputs.end(), value) != inputs.end()) continue;
    if (!state && model.values[value].role != Role::variable) continue;
    const auto& op = model.operators[node.op].name;
    if (state)
      throw Failure(
          FailureKind::usage,
          fmt::format(
              "its forward() adds '{}', which has states; composed operators cannot have states",
              op));
    throw Failure(FailureKind::usage,
                  fmt::format("its forward() adds '{}', which creates the implicit variable '{}'",
                              op, value_label(model, value)),
                  "add an input for it to the composed operator (it may be a .weight()), or "
                  "disable it with a parameter");
  }
}

/// A graph that contains only the nodes of one composed node.
struct Inside {
  Inside(const LoadedOperator& op, const void* object, const CallTypes& types)
      : builder(model, binding, *op.plugins) {
    ComposedNode node{op, object, op.info->name,
                      {}, {},     static_cast<std::uint32_t>(types.outputs.size())};
    for (std::size_t i = 0; i < types.inputs.size(); ++i) {
      auto type = types.inputs[i];
      const bool present = type.present != 0;
      type.present = 1, type.storage = TENON_DENSE;
      node.inputs.push_back(
          present ? builder.input(free_name(model, name_of_input(*op.info, i)), type) : none);
    }
    inputs = node.inputs;
    outputs = compose(builder, node);
  }

  GraphModel model;
  Binding binding;
  GraphBuilder builder;
  std::vector<ValueId> inputs, outputs;
};

}  // namespace

bool is_composed(const LoadedOperator& op) {
  return op.table != nullptr && op.plugins != nullptr && is_composed(*op.table);
}

std::vector<ValueId> compose(GraphBuilder& builder, const ComposedNode& node) {
  GraphCallbacks callbacks{.function = "forward()",
                           .input_count = static_cast<std::uint32_t>(node.inputs.size()),
                           .output_count = node.outputs,
                           .input = {},
                           .output = {},
                           .output_grad = {},
                           .connected = {}};
  const Entered entered(composing, node.op);
  callbacks.input = [&](std::uint32_t i) {
    if (node.inputs[i] == none)
      throw Failure(FailureKind::usage,
                    fmt::format("its forward() reads input '{}', but that input is not connected",
                                name_of_input(*node.op.info, i)),
                    "check c.has_input() first");
    return node.inputs[i];
  };
  callbacks.connected = [&](std::int32_t, std::uint32_t i) { return node.inputs[i] != none; };
  callbacks.name_of = [&](std::string_view op) { return fmt::format("{}/{}", node.name, op); };
  callbacks.added = [&](NodeId id) {
    require_no_implicit_values(builder.model(), id, node.inputs);
    if (++composing.nodes > max_nodes)
      throw Failure(FailureKind::plugin,
                    fmt::format("its forward() adds more than {} nodes", max_nodes));
  };
  callbacks.device = node.device;
  callbacks.allowed_values = node.inputs;
  callbacks.results.assign(node.outputs, none);
  run_graph_function(builder, node.op, node.object, callbacks);
  for (std::size_t i = 0; i < callbacks.results.size(); ++i)
    if (callbacks.results[i] == none)
      throw Failure(FailureKind::plugin,
                    fmt::format("its forward() does not set {}", output_name(*node.op.info, i)),
                    "call c.set_output() for this output");
  return std::move(callbacks.results);
}

void infer_composed(const LoadedOperator& op, const void* object, CallTypes& types) {
  const Inside inside(op, object, types);
  const auto take = [&](std::vector<tenon_type>& group, const std::vector<ValueId>& values) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (values[i] == none) continue;
      const auto present = group[i].present;
      group[i] = inside.model.values[values[i]].type;
      group[i].present = present;
    }
  };
  take(types.inputs, inside.inputs);
  take(types.outputs, inside.outputs);
}

std::vector<bool> inputs_with_gradient(const LoadedOperator& op, const void* object,
                                       const CallTypes& types,
                                       const std::vector<bool>& output_grads) {
  const Entered entered(differentiating, op);
  Inside inside(op, object, types);
  GradientSubgraph subgraph{.first = 0,
                            .end = static_cast<NodeId>(inside.model.nodes.size()),
                            .seeds = {},
                            .substitutes = {}};
  for (std::size_t i = 0; i < inside.outputs.size(); ++i) {
    if (!output_grads[i]) continue;
    // a copy, because input() may reallocate the values
    const auto type = inside.model.values[inside.outputs[i]].type;
    subgraph.seeds.emplace_back(
        inside.outputs[i],
        inside.builder.input(free_name(inside.model, fmt::format("gradient {}", i)), type));
  }
  std::vector<ValueId> wrt;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < inside.inputs.size(); ++i)
    if (inside.inputs[i] != none && may_have_gradient(inside.model.values[inside.inputs[i]].type))
      wrt.push_back(inside.inputs[i]), indices.push_back(i);
  const auto found = add_gradient(inside.builder, subgraph, wrt);
  std::vector<bool> has_gradient(inside.inputs.size());
  for (std::size_t k = 0; k < found.size(); ++k) has_gradient[indices[k]] = found[k] != none;
  return has_gradient;
}

}  // namespace tenon
