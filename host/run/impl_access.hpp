// Access to the implementation of public handles, for the host's own code and its tests.
#pragma once
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/session.hpp>

#include "run/one_thread.hpp"

namespace tenon {

struct GraphModel;

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

}  // namespace tenon
