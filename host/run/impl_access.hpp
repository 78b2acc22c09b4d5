// Access to what public handles contain, for the host's own code and its tests.
#pragma once
#include <functional>
#include <memory>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>

#include "graph/model.hpp"
#include "run/one_thread.hpp"

namespace tenon {

class PluginSet;
class Threads;
class Warnings;

struct ImplAccess {
  static Graph::Impl& of(const Graph& graph) { return deref(graph.impl_, "the graph"); }
  static Host::Impl& of(Host& host) { return *host.impl_; }
  static Graph graph(std::shared_ptr<Graph::Impl> impl) { return Graph(std::move(impl)); }
  static Host handle(std::shared_ptr<Host::Impl> host) { return Host(std::move(host)); }
  static Session::Impl& of(const Session& session) { return deref(session.impl_, "the session"); }
};

inline Graph::Impl& impl_of(const Graph& graph) {
  return ImplAccess::of(graph);
}
inline Host::Impl& impl_of(Host& host) {
  return ImplAccess::of(host);
}
inline Session::Impl& impl_of(const Session& session) {
  return ImplAccess::of(session);
}

/// The graph as plain data; valid until the graph is edited.
const GraphModel& model_of(const Graph& graph);
/// The graph as plain data, with types that follow from the present elements of its constants.
std::shared_ptr<const GraphModel> up_to_date_model(const Graph& graph);
/// The graph for any edit; invalidates references to its previous contents.
GraphModel& edit_model(Graph& graph);
/// The value's id in this graph. Throws Failure (usage) for a value of another graph.
ValueId id_of(const Graph& graph, Value value);
/// Sets the tensor of each value for which `tensor_of` returns one.
void set_tensors(Graph& graph, const std::function<Tensor(ValueId)>& tensor_of);

PluginSet& plugins_of(Host& host);  ///< with the default folders scanned
Threads& threads_of(Host& host);
Warnings& warnings_of(Host& host);

}  // namespace tenon
