#include "graph/upgrade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tenon/host/failure.hpp>

#include "graph/binding.hpp"
#include "graph/inference/operator_inference.hpp"
#include "graph/operators/operator_use.hpp"
#include "graph/parameters.hpp"
#include "plugin/operator_history.hpp"

namespace tenon {
namespace {

using OutputCounts = std::map<NodeId, std::uint32_t>;  // nodes that have more outputs than before

/// Adds new outputs of nodes. A node's outputs are contiguous, so other values may be renumbered.
void add_outputs(GraphModel& model, const OutputCounts& counts) {
  std::vector<ValueId> moved;
  std::vector<ValueRecord> values;
  const auto grow = [&](NodeId id, std::uint32_t count) {
    for (auto index = model.nodes[id].output_count; index < count; ++index) {
      auto& value = values.emplace_back();
      value.producer = id;
      value.index = index;
      value.type = unknown_type();
    }
  };
  for (const auto& value : model.values) {
    moved.push_back(static_cast<ValueId>(values.size()));
    values.push_back(value);
    const auto found = value.producer == none ? counts.end() : counts.find(value.producer);
    if (found != counts.end() && value.index + 1 == model.nodes[found->first].output_count)
      grow(found->first, found->second);
  }
  const auto move = [&](ValueId& value) {
    if (value < moved.size()) value = moved[value];
  };
  for (NodeId id = 0; id < model.nodes.size(); ++id)
    if (model.nodes[id].output_count > 0) move(model.nodes[id].first_output);
  for (const auto& [id, count] : counts) {
    auto& node = model.nodes[id];
    if (node.output_count == 0)
      node.first_output = static_cast<std::uint32_t>(values.size()), grow(id, count);
    node.output_count = count;
  }
  model.values = std::move(values);
  std::for_each(model.edges.begin(), model.edges.end(), move);
  std::for_each(model.inputs.begin(), model.inputs.end(), move);
  for (auto& [name, value] : model.outputs) move(value);
  for (auto& [variable, value] : model.updates) move(variable), move(value);
  if (model.training)
    for (auto& slot : model.training->slots) move(slot.variable);
  model.value_names.clear();
  for (ValueId id = 0; id < model.values.size(); ++id)
    if (model.values[id].role != Role::output) model.value_names.add(model.values[id].name, id);
}

/// Returns which input dtype of the node the description does not accept: `does not take float32 as
/// input 'x'`. Empty: all are accepted.
std::string refused_dtype(const GraphModel& model, const NodeRecord& node,
                          const OperatorInfo& here) {
  for (std::uint32_t i = 0; i < node.input_count && node.pass == Pass::forward; ++i) {
    const auto value = model.edges[node.first_edge + i];
    if (value == none || model.values[value].type.dtype == TENON_DTYPE_UNKNOWN) continue;
    const auto& input = here.inputs[declared_input(here, i)];
    const auto dtype = static_cast<DType>(model.values[value].type.dtype);
    if (!allows(input.types.value_or(here.types), dtype))
      return fmt::format("does not take {} as input '{}'", name_of(dtype), input.name);
  }
  return {};
}

/// Upgrades the nodes of one operator.
class Upgrade {
 public:
  Upgrade(GraphModel& model, std::uint32_t op, const OperatorInfo& here)
      : model_(model),
        op_(op),
        stored_(model.operators[op].version),
        here_(here),
        before_(model.nodes) {}

  void run(bool may_move) {
    try {
      each_node([&](NodeId id, NodeRecord& node) {
        if (node.pass != Pass::backward)
          at_node(model_, id, [&] { require_dtypes(node), renew_parameters(node); });
      });
      const auto counts = new_outputs();
      if (!counts.empty() && !may_move)
        throw Failure(FailureKind::plugin,
                      fmt::format("version {} of operator '{}' has more outputs than version {}, "
                                  "for which the graph was made, and it "
                                  "was added after the graph was loaded",
                                  here_.version, here_.full_name(), stored_),
                      "add the plugin before loading the graph");
      if (!counts.empty()) add_outputs(model_, counts);
    } catch (...) {
      model_.nodes = before_;
      throw;
    }
    each_node([&](NodeId, NodeRecord& node) {
      node.pass == Pass::backward ? renew_backward(node) : renew_edges(node);
    });
  }

 private:
  template <class Visit>
  void each_node(Visit&& visit) {
    for (NodeId id = 0; id < model_.nodes.size(); ++id)
      if (model_.nodes[id].op == op_) visit(id, model_.nodes[id]);
  }

  void require_dtypes(const NodeRecord& node) const {
    if (const auto refused = refused_dtype(model_, node, here_); !refused.empty())
      throw Failure(
          FailureKind::plugin,
          fmt::format("needs version {} of the operator, but version {} is installed, which {}",
                      stored_, here_.version, refused),
          fmt::format("use a plugin with version {}", stored_));
  }

  void renew_parameters(NodeRecord& node) {
    const auto renewed = upgraded(all_parameters(model_, node), stored_, here_);
    try {
      add_parameters(model_, node, here_, renewed);
    } catch (const Failure& failure) {
      throw Failure(
          failure.kind(),
          fmt::format("{} in version {} of the operator, and the graph was made for version {}",
                      failure.what(), here_.version, stored_),
          fmt::format("use a plugin with version {}", stored_));
    }
  }

  std::uint32_t new_inputs(const NodeRecord& node) const {
    return std::max(node.input_count,
                    static_cast<std::uint32_t>(here_.inputs.size() - (here_.variadic() ? 1 : 0)));
  }

  OutputCounts new_outputs() {
    OutputCounts counts;
    each_node([&](NodeId id, const NodeRecord& node) {
      const auto count = node.pass == Pass::backward ? new_inputs(before_[node.origin])
                                                     : output_count(model_, node, here_);
      if (count > node.output_count) counts.emplace(id, count);
    });
    return counts;
  }

  // Moves the node's edges to the end of all edges if it needs more of them.
  void renew_edges(NodeRecord& node) {
    const auto inputs = new_inputs(node);
    if (inputs == node.input_count && node.state_count >= here_.states.size()) return;
    const std::vector<ValueId> old(
        model_.edges.begin() + node.first_edge,
        model_.edges.begin() + node.first_edge + node.input_count + node.state_count);
    node.first_edge = static_cast<std::uint32_t>(model_.edges.size());
    const auto states = old.begin() + node.input_count;
    model_.edges.insert(model_.edges.end(), old.begin(), states);
    model_.edges.resize(node.first_edge + inputs, none);
    model_.edges.insert(model_.edges.end(), states, old.end());
    node.input_count = inputs;
    if (node.pass != Pass::forward) return;
    for (; node.state_count < here_.states.size(); ++node.state_count)
      model_.edges.push_back(new_state(node));
  }

  ValueId new_state(const NodeRecord& node) {
    const auto id = static_cast<ValueId>(model_.values.size());
    const auto name =
        fmt::format("{}_{}", model_.strings[node.name], here_.states[node.state_count].name);
    auto& value = model_.values.emplace_back();
    value.name = model_.strings.intern(free_name(model_, name));
    value.role = Role::state;
    value.type = unknown_type();
    model_.value_names.add(value.name, id);
    return id;
  }

  // A backward node reads the gradients, inputs and outputs of its forward node. Of the new outputs
  // it gets those that backward reads.
  void renew_backward(NodeRecord& node) {
    const auto& old = before_[node.origin];
    const auto& forward = model_.nodes[node.origin];
    if (old.input_count == forward.input_count && old.output_count == forward.output_count) return;
    const auto first = node.first_edge;
    const auto copy = [&](std::uint32_t begin, std::uint32_t count, std::uint32_t new_count) {
      for (std::uint32_t i = 0; i < new_count; ++i) {
        const auto edge = i < count ? model_.edges[first + begin + i] : none;
        model_.edges.push_back(edge);
      }
    };
    node.first_edge = static_cast<std::uint32_t>(model_.edges.size());
    copy(0, old.output_count, forward.output_count);
    copy(old.output_count, old.input_count, forward.input_count);
    copy(old.output_count + old.input_count, old.output_count, forward.output_count);
    node.input_count = 2 * forward.output_count + forward.input_count;
    const auto outputs = node.first_edge + forward.output_count + forward.input_count;
    const auto added = model_.operators[op_].info->outputs.size();  // index of the first new output
    for (auto i = old.output_count; i < forward.output_count; ++i)
      if (here_.backward_reads_output[std::min(added + (i - old.output_count),
                                               here_.outputs.size() - 1)])
        model_.edges[outputs + i] = forward.first_output + i;
  }

  GraphModel& model_;
  std::uint32_t op_;
  int stored_;
  const OperatorInfo& here_;
  const std::vector<NodeRecord> before_;
};

}  // namespace

void require_upgradable(const OperatorInfo& stored, const OperatorInfo& here) {
  if (stored.version > here.version)
    throw Failure(
        FailureKind::plugin,
        fmt::format("was written for version {} of the operator, but version {} is installed",
                    stored.version, here.version),
        "install a newer version of the plugin");
  const auto change = change_since(stored, here);
  if (!change) return;
  const bool same = stored.version == here.version;
  const auto declaration = change->declaration.empty()
                               ? std::string()
                               : fmt::format("its author declares {}", change->declaration);
  if (same)
    throw Failure(
        FailureKind::plugin,
        fmt::format("was made with another version {} of the operator: the installed one {}",
                    stored.version, change->what),
        fmt::format("use the plugin that the graph was made with; its author raises op.version for "
                    "such a change{}",
                    change->declaration.empty() ? "" : " and declares " + change->declaration));
  throw Failure(
      FailureKind::plugin,
      fmt::format("needs version {} of the operator, but version {} is installed, which {}",
                  stored.version, here.version, change->what),
      fmt::format("use a plugin with version {}{}", stored.version,
                  declaration.empty() ? "" : "; older graphs load if " + declaration));
}

bool fits(const GraphModel& model, std::uint32_t op, const OperatorInfo& here) {
  const auto& use = model.operators[op];
  if (use.info->manifest == here.manifest) return true;
  if (use.version > here.version || change_since(*use.info, here)) return false;
  if (use.version == here.version) return true;
  const bool has_backward = here.has("backward") || here.has("compose") || here.kernels_elsewhere;
  GraphModel scratch;
  for (const auto& node : model.nodes) {
    if (node.op == op && node.pass == Pass::backward && !has_backward) return false;
    if (node.op != op || node.pass == Pass::backward) continue;
    if (!refused_dtype(model, node, here).empty()) return false;
    try {
      NodeRecord renewed;
      add_parameters(scratch, renewed, here,
                     upgraded(all_parameters(model, node), use.version, here));
    } catch (const Failure&) {
      return false;
    }
  }
  return true;
}

void upgrade(GraphModel& model, std::uint32_t op, const OperatorInfo& here, bool may_move) {
  const auto first = std::find_if(model.nodes.begin(), model.nodes.end(),
                                  [&](const NodeRecord& node) { return node.op == op; });
  const auto require = [&] { require_upgradable(*model.operators[op].info, here); };
  if (first == model.nodes.end())
    require();
  else
    at_node(model, static_cast<NodeId>(first - model.nodes.begin()), require);
  if (model.operators[op].version != here.version) Upgrade(model, op, here).run(may_move);
}

}  // namespace tenon
