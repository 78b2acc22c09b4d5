// Binding: looks up the operator of each node and creates its object.
#pragma once
#include <memory>
#include <tenon/host/failure.hpp>
#include <vector>

#include "graph/instance.hpp"
#include "graph/model.hpp"
#include "io/crash/active_call.hpp"
#include "plugin/operator_name.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// One entry for each node. Inference and gradients never change the objects, so copies of a
/// binding share them.
struct Binding {
  struct Node {
    const LoadedOperator* op = nullptr;
    // empty for backward nodes, which use their origin's object
    std::shared_ptr<const Instance> instance;
    // the operator's description, resolved for the node's parameters
    std::shared_ptr<const OperatorInfo> info;
  };
  std::vector<Node> nodes;
  std::vector<const LoadedOperator*> operators;  // one entry for each OperatorUse
};

/// Whether the operator was defined by the application, not by a plugin or by Tenon itself.
inline bool is_application_own(const LoadedOperator& op) {
  return op.make != nullptr || (op.file < 0 && op.info->space != bundled_space);
}

/// Binds the nodes that are not bound yet, and upgrades nodes written for an older version of their
/// operator. Throws Failure (plugin) that lists all missing operators at once, each with node,
/// operator, version, original plugin, search paths and similar names.
void bind(GraphModel& model, PluginSet& plugins, Binding& binding);

/// Adds the outputs that newer versions of the installed operators have. For a graph that was just
/// read and whose values nothing refers to by number yet.
void upgrade_outputs(GraphModel& model, PluginSet& plugins);

/// `[quadratic] node 'act'`: the prefix of error messages.
std::string node_label(const GraphModel& model, NodeId node);

/// Rethrows the failure with `label` in front of its message.
[[noreturn]] void rethrow_at(const std::string& label, const Failure& failure);

/// Runs f, attributing plugin calls to this node; a Failure from f gets the node's label as its
/// prefix.
template <class F>
decltype(auto) at_node(const GraphModel& model, NodeId node, F&& f) {
  const AtNode at(model.strings[model.nodes[node].name].data());
  try {
    return f();
  } catch (const Failure& failure) {
    rethrow_at(node_label(model, node), failure);
  }
}

}  // namespace tenon
