#include "run/session/session_warnings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/counted.hpp"

namespace tenon {
namespace {

bool reads(const GraphModel& model, NodeId id, ValueId value) {
  const auto* edges = model.edges.data() + model.nodes[id].first_edge;
  return std::find(edges, edges + model.nodes[id].input_count, value) !=
         edges + model.nodes[id].input_count;
}

NodeId first_reader(const Plan& plan, ValueId value) {
  const auto& order = plan.memory.order;
  const auto found = std::find_if(order.begin(), order.end(),
                                  [&](NodeId id) { return reads(plan.model(), id, value); });
  return found == order.end() ? none : *found;
}

// `'x' (16 bytes) from cuda:0, 'y' (16 bytes) to cuda:0`: the copies that one node causes.
std::string copies_for(const Plan& plan, NodeId id) {
  const auto& model = plan.model();
  std::vector<std::string> copies;
  for (const auto& made : plan.graph.copies) {
    const auto value = plan.graph.source_of(made), copy = made.copy;
    if (plan.memory.readers[copy] == 0) continue;
    const bool in = reads(model, id, copy), out = model.values[value].producer == id;
    if (!in && !out) continue;
    const auto& type = plan.types()[value];
    const auto size =
        type.storage == TENON_DENSE ? counted(byte_count(type), "byte") : "its stored elements";
    copies.push_back(fmt::format("'{}' ({}) {} {}", value_label(model, value), size,
                                 in ? "from" : "to",
                                 plan.graph.value_devices[in ? value : copy]->name()));
  }
  return copies.empty() ? "" : listed(copies);
}

}  // namespace

// Only conversions that the plan executes; names the first node that needs them.
void warn_of_conversions(Warnings& warnings, const Plan& plan, bool optimized) {
  const auto& model = plan.model();
  for (const auto& conversion : plan.graph.conversions) {
    if (plan.memory.readers[conversion.dense] == 0) continue;
    const auto storage = name_of(static_cast<Storage>(conversion.storage));
    const auto what = fmt::format("'{}' is converted from {} to dense, {}, because",
                                  value_label(model, conversion.value), storage,
                                  counted(conversion.bytes, "byte"));
    const auto reader = first_reader(plan, conversion.dense);
    if (optimized &&
        model.rewritten_from.contains(reader))  // the nodes it replaced may have sparse kernels
      throw Failure(FailureKind::failed,
                    fmt::format("{} has no kernel for these storages", node_label(model, reader)));
    if (reader != none) {
      const auto& node = model.nodes[reader];
      const auto work = work_label(model, node);
      const auto& fault = plan.operator_of(reader).sparse_gradient_fault;
      const auto why = node.pass == Pass::backward && !fault.empty()
                           ? fault
                           : fmt::format("{} has no kernel for these storages", work);
      warnings.densified(fmt::format("{} {}", work, storage),
                         fmt::format("{}: {} {}", node_label(model, reader), what, why));
    } else {
      warnings.densified(
          fmt::format("update {}", storage),
          fmt::format("{} a variable is updated with it, and variables are dense", what));
    }
  }
}

// Names the first node of each operator that falls back to the CPU for lack of a kernel, and the
// cost.
void warn_of_fallbacks(Warnings& warnings, const SessionGraph& graph, const Plan& plan) {
  const auto& model = graph.model();
  const auto& kernels = graph.kernels;
  std::vector<NodeId> nodes;
  for (const auto& step : plan.memory.order) {
    const auto run = plan.graph.nodes_at(step);
    nodes.insert(nodes.end(), run.begin(), run.end());
  }
  for (const auto id : nodes) {
    if (id >= model.nodes.size()) continue;  // added by the plan
    const auto why = kernels.why_on_cpu(model, id);
    if (why.empty()) continue;
    const auto work = work_label(model, model.nodes[id]);
    const auto copies = copies_for(plan, id);
    warnings.once(fmt::format("{} on {}", work, kernels.device().name()),
                  fmt::format("{}: runs on the CPU, not on {}: {}{}{}", node_label(model, id),
                              kernels.device().name(), why,
                              copies.empty() ? "" : "; copied for it: ", copies));
  }
}

// Inference with random weights would look like a result.
void warn_of_random_values(Warnings& warnings, const GraphModel& model,
                           std::span<const ValueId> variables, std::uint64_t seed) {
  if (variables.empty()) return;
  const auto first = value_label(model, variables.front());
  const auto others = variables.size() - 1;
  warnings.once(
      fmt::format("random {} {}", first, others),
      fmt::format("'{}'{} no values, so the session initializes them randomly with seed {}: train "
                  "the graph, load a saved one, or initialize it",
                  first,
                  others == 0
                      ? " has"
                      : fmt::format(" and {} more variable{} have", others, others == 1 ? "" : "s"),
                  seed));
}

// The kernel does not fulfil its declaration; the run succeeded without captures.
void warn_of_capture(Warnings& warnings, const Execution& execution) {
  if (const auto failure = execution.capture_failure(); !failure.empty())
    warnings.once("capture " + failure,
                  "kernels cannot be captured and run one by one: " + failure);
}

}  // namespace tenon
