#include "graph/composed/expansion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "device/devices.hpp"
#include "graph/composition.hpp"
#include "graph/gradient/gradient.hpp"
#include "graph/gradient/second_derivative.hpp"
#include "graph/inference/inference.hpp"
#include "graph/kernel_set.hpp"
#include "graph/parameters.hpp"

namespace tenon {
namespace {

/// The composed operators that enclose a node, innermost last.
using Enclosing = std::vector<const LoadedOperator*>;

/// Whether the operator has a kernel for the node's types, as far as they are known.
bool has_kernel(const GraphModel& model, NodeId id, const LoadedOperator& op, const Device& device,
                bool backward) {
  if (op.candidates[device.type()].empty()) return false;
  const auto& node = model.nodes[id];
  std::vector<tenon_attribute> attributes;
  fill_attributes(model, node, attributes);
  const KernelSet kernels(op, device.type(), attributes, backward);
  CallTypes types;
  gather_types(model, node, types);
  return kernels.find(*op.info, types) < kernels.size();
}

/// Returns which nodes are expanded: composed ones, with their backward and recomputed nodes.
std::vector<bool> choose_nodes(const GraphSnapshot& graph, const Device& device) {
  const auto& nodes = graph.model.nodes;
  std::vector<bool> with_backward(nodes.size()), chosen(nodes.size());
  for (const auto& node : nodes)
    if (node.pass == Pass::backward) with_backward[node.origin] = true;
  for (NodeId id = 0; id < nodes.size(); ++id) {
    const auto& node = nodes[id];
    const auto& op = *graph.binding.nodes[id].op;
    if (node.pass != Pass::forward) {
      chosen[id] = chosen[node.origin];
    } else if (is_composed(op)) {
      const auto& runs_on =
          node.device == 0 ? device : find_device(graph.model.strings[node.device]);
      chosen[id] = !has_kernel(graph.model, id, op, runs_on, with_backward[id]);
    }
  }
  return chosen;
}

/// Expands one level of composed operators. Nodes are added in the graph's order, values only at
/// the end.
class Expansion {
 public:
  Expansion(const GraphSnapshot& from, const std::vector<bool>& chosen,
            std::vector<Enclosing> enclosing)
      : from_(from),
        chosen_(chosen),
        enclosing_before_(std::move(enclosing)),
        to_(std::make_shared<GraphSnapshot>()) {
    to_->model = from.model;
    to_->model.nodes.clear();
    to_->model.node_names.clear();
    to_->model.objects.clear();
    to_->binding.operators = from.binding.operators;
    enclosing_before_.resize(from.model.nodes.size());
  }

  std::shared_ptr<GraphSnapshot> run() {
    for (NodeId id = 0; id < chosen_.size(); ++id) {
      if (!chosen_[id])
        copy_node(id);
      else
        at_node(from_.model, id, [&] { replace(id); });
    }
    for (auto& [name, value] : to_->model.outputs) value = current_value(value);
    for (auto& [variable, value] : to_->model.updates) value = current_value(value);
    return to_;
  }
  /// The enclosing operators of each node of the graph that run() returned.
  std::vector<Enclosing> enclosing() { return std::move(enclosing_); }

 private:
  /// The nodes that replace a forward or recomputed node.
  struct Inside {
    NodeId first, end;
    std::vector<ValueId> outputs;
    // recomputed nodes only: values of the forward node -> recomputed values
    std::unordered_map<ValueId, ValueId> recomputed;
  };

  ValueId current_value(ValueId value) const {
    const auto found = replaced_.find(value);
    return found == replaced_.end() ? value : found->second;
  }
  std::vector<ValueId> edges(const NodeRecord& node) const {
    std::vector<ValueId> found(to_->model.edges.begin() + node.first_edge,
                               to_->model.edges.begin() + node.first_edge + node.input_count);
    for (auto& value : found) value = current_value(value);
    return found;
  }
  GraphBuilder builder(NodeId id) {
    return {to_->model, to_->binding, *from_.binding.nodes[id].op->plugins};
  }

  void copy_node(NodeId id) {
    auto node = from_.model.nodes[id];
    auto& model = to_->model;
    const auto added = static_cast<NodeId>(model.nodes.size());
    for (auto edge = node.first_edge; edge < node.first_edge + node.input_count; ++edge)
      model.edges[edge] = current_value(model.edges[edge]);
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      model.values[node.first_output + i].producer = added;
    if (node.origin != none) node.origin = copied_.at(node.origin);
    if (const auto object = from_.model.objects.find(id); object != from_.model.objects.end())
      model.objects.emplace(added, object->second);
    model.node_names.add(node.name, added);
    model.nodes.push_back(node);
    to_->binding.nodes.push_back(from_.binding.nodes[id]);
    enclosing_.push_back(enclosing_before_[id]);
    copied_.emplace(id, added);
  }

  void replace(NodeId id) {
    const auto& node = from_.model.nodes[id];
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      to_->model.values[node.first_output + i].producer = none;
    if (node.pass == Pass::backward)
      differentiate(id);
    else
      node.pass == Pass::forward ? expand(id) : expand_recomputed(id);
    auto enclosing = enclosing_before_[id];
    enclosing.push_back(from_.binding.nodes[id].op);
    enclosing_.resize(to_->model.nodes.size(), enclosing);
  }

  void expand(NodeId id) {
    const auto& node = from_.model.nodes[id];
    const auto& bound = from_.binding.nodes[id];
    refuse_cycle(id);
    auto into = builder(id);
    const auto first = static_cast<NodeId>(to_->model.nodes.size());
    auto outputs = compose(
        into, {*bound.op, bound.instance->get(), std::string(from_.model.strings[node.name]),
               std::string(from_.model.strings[node.device]), edges(node), node.output_count});
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      auto type = from_.model.values[node.first_output + i].type;
      const auto& composed = to_->model.values[outputs[i]].type;
      if (merge(type, composed) == Merge::contradiction)
        throw Failure(
            FailureKind::plugin,
            fmt::format("its infer() declares output {} as {}, but its composed nodes produce {}",
                        i, to_string(from_.model.values[node.first_output + i].type),
                        to_string(composed)));
      replaced_.emplace(node.first_output + i, outputs[i]);
    }
    inside_.emplace(
        id, Inside{first, static_cast<NodeId>(to_->model.nodes.size()), std::move(outputs), {}});
  }

  void refuse_cycle(NodeId id) const {
    const auto& enclosing = enclosing_before_[id];
    const auto* const op = from_.binding.nodes[id].op;
    const auto found = std::find(enclosing.begin(), enclosing.end(), op);
    if (found == enclosing.end()) return;
    std::string cycle;
    std::for_each(found, enclosing.end(),
                  [&](const LoadedOperator* one) { cycle += one->info->full_name() + " -> "; });
    const auto name = op->info->full_name();
    throw Failure(
        FailureKind::plugin,
        fmt::format("the composed operator '{}' contains itself: {}{}", name, cycle, name));
  }

  // Recomputes each node inside, with its origin's random numbers.
  void expand_recomputed(NodeId id) {
    const auto& node = from_.model.nodes[id];
    const auto& origin = inside_.at(node.origin);
    auto into = builder(id);
    Inside inside{origin.first, origin.end, {}, {}};
    const auto before = edges(from_.model.nodes[node.origin]), after = edges(node);
    for (std::size_t i = 0; i < before.size(); ++i) inside.recomputed.emplace(before[i], after[i]);
    const auto recomputed = [&](ValueId value) {
      const auto found = inside.recomputed.find(value);
      return found == inside.recomputed.end() ? value : found->second;
    };
    for (auto at = origin.first; at < origin.end; ++at) {
      auto inputs = edges(to_->model.nodes[at]);
      for (auto& value : inputs) value = recomputed(value);
      const auto added = into.recompute(at, inputs);
      for (std::uint32_t i = 0; i < to_->model.nodes[added].output_count; ++i)
        inside.recomputed.emplace(to_->model.nodes[at].first_output + i,
                                  to_->model.nodes[added].first_output + i);
    }
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      replaced_.emplace(node.first_output + i, recomputed(origin.outputs[i]));
    inside_.emplace(id, std::move(inside));
  }

  void differentiate(NodeId id) {
    const auto& node = from_.model.nodes[id];
    const auto& forward = from_.model.nodes[node.origin];
    const auto& inside = inside_.at(node.origin);
    const auto read = edges(node),
               inputs = edges(forward);  // output gradients, forward's inputs, forward's outputs
    GradientSubgraph subgraph{
        .first = inside.first, .end = inside.end, .seeds = {}, .substitutes = {}};
    if (const auto recomputed = inside_.find(computed_by(node, forward));
        recomputed != inside_.end())
      subgraph.substitutes = recomputed->second.recomputed;
    for (std::uint32_t i = 0; i < forward.input_count; ++i)
      if (const auto value = read[forward.output_count + i]; value != none)
        subgraph.substitutes[inputs[i]] = value;
    for (std::uint32_t i = 0; i < forward.output_count; ++i)
      if (read[i] != none) subgraph.seeds.emplace_back(inside.outputs[i], read[i]);
    std::vector<ValueId> wrt;
    for (std::uint32_t i = 0; i < forward.input_count; ++i)
      if (receives_gradient(inputs, i)) wrt.push_back(inputs[i]);
    auto into = builder(id);
    const auto found = add_gradient(into, subgraph, wrt);
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < forward.input_count; ++i) {
      const auto gradient = receives_gradient(inputs, i) ? found[next++] : none;
      if (inputs[i] != none && may_have_gradient(to_->model.values[inputs[i]].type))
        replaced_.emplace(node.first_output + i,
                          gradient != none ? gradient : zeros_like(into, inputs[i]));
    }
  }

  // Returns the node, forward or recomputed, whose outputs a backward node reads; `none` if it
  // reads no outputs.
  NodeId computed_by(const NodeRecord& node, const NodeRecord& forward) const {
    const auto* edge =
        from_.model.edges.data() + node.first_edge + forward.output_count + forward.input_count;
    const auto* const found = std::find_if(edge, edge + forward.output_count,
                                           [](ValueId value) { return value != none; });
    return found == edge + forward.output_count ? none : from_.model.values[*found].producer;
  }

  // A value that is connected to several inputs has its whole gradient at the first.
  bool receives_gradient(const std::vector<ValueId>& inputs, std::uint32_t i) const {
    const auto here = inputs.begin() + i;
    return *here != none && may_have_gradient(to_->model.values[*here].type) &&
           std::find(inputs.begin(), here, *here) == here;
  }
  ValueId zeros_like(GraphBuilder& into, ValueId value) const {
    const auto name = free_name(to_->model, "no_gradient");
    const auto zeros = into.node({.op = "tenon.fill_like",
                                  .name = name,
                                  .inputs = {value},
                                  .named_inputs = {},
                                  .attributes = {}});
    return to_->model.nodes[zeros].first_output;
  }

  const GraphSnapshot& from_;
  const std::vector<bool>& chosen_;
  // of each node, before and after the expansion
  std::vector<Enclosing> enclosing_before_, enclosing_;
  std::shared_ptr<GraphSnapshot> to_;
  std::unordered_map<ValueId, ValueId> replaced_;
  std::unordered_map<NodeId, NodeId> copied_;
  std::unordered_map<NodeId, Inside> inside_;
};

}  // namespace

std::shared_ptr<const GraphSnapshot> expanded(std::shared_ptr<const GraphSnapshot> graph,
                                              const Device& device) {
  std::vector<Enclosing> enclosing;
  for (;;) {
    const auto chosen = choose_nodes(*graph, device);
    if (std::find(chosen.begin(), chosen.end(), true) == chosen.end()) return graph;
    Expansion expansion(*graph, chosen, std::move(enclosing));
    graph = expansion.run();
    enclosing = expansion.enclosing();
  }
}

}  // namespace tenon
