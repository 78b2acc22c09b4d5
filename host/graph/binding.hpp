// A graph's nodes meet their operators: loaded, and re-created as objects.
#pragma once
#include <memory>
#include <tenon/host/failure.hpp>
#include <vector>

#include "graph/instance.hpp"
#include "graph/model.hpp"
#include "io/crash/running.hpp"
#include "plugin/operator_name.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// One entry for each node. The objects serve inference and gradients, which never change them, so that copies share them.
struct Binding {
  struct Node {
    const LoadedOperator* op = nullptr;
    std::shared_ptr<const Instance> instance;  // empty for backward nodes, whose object is their origin's
    std::shared_ptr<const OperatorInfo> info;  // the operator with the node's parameters
  };
  std::vector<Node> nodes;
  std::vector<const LoadedOperator*> operators;  // one entry for each OperatorUse
};

/// Whether the operator is the application's: not from a plugin, and not one of Tenon's own.
inline bool is_application_own(const LoadedOperator& op) {
  return op.make != nullptr || (op.file < 0 && op.info->space != bundled_space);
}

/// Binds what is not bound yet. All operators that are missing are reported at once: node, operator, version, the plugin it came from,
/// where was searched, what is near (Failure, plugin). Nodes written for an older version of their operator are brought up to date in the
/// model.
void bind(GraphModel& model, PluginSet& plugins, Binding& binding);

/// For a graph that was just read, before anything refers to its values by number: gives nodes the outputs that newer versions of their
/// operators make besides, as far as those are here.
void upgrade_outputs(GraphModel& model, PluginSet& plugins);

/// `[quadratic] node 'act'`: how messages begin.
std::string node_label(const GraphModel& model, NodeId node);

/// The same failure with the label before its message.
[[noreturn]] void rethrow_at(const std::string& label, const Failure& failure);

/// Runs f, whose calls into plugins are made at that node; a Failure that comes out of it then begins with the node's label.
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
