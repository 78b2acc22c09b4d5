// Optimizes a session's graph.
#pragma once
#include <memory>
#include <tenon/host/session.hpp>

#include "graph/rewrite/rule_set.hpp"
#include "graph/snapshot.hpp"
#include "plan/tensor_table.hpp"
#include "run/host_impl.hpp"

namespace tenon {

/// The rewrite rules of a host's plugins, updated when plugins are added. Threads: any.
class RuleCache {
 public:
  std::shared_ptr<const RuleSet> of(Host::Impl& host);

 private:
  std::mutex mutex_;
  HostVersion version_;  // of the rules
  std::shared_ptr<const RuleSet> rules_;
};

/// Wraps a bound snapshot as an independent graph.
Graph graph_of(Host::Impl& host, GraphSnapshot snapshot);

/// Returns the optimized graph; the graph itself if there is nothing to optimize, in sessions that
/// train, and in debugging sessions. `tensors` has the elements of variables, states and constants;
/// `stay` marks those that cannot change. Warns about invalid rules.
std::shared_ptr<const GraphSnapshot> optimized_graph(Host::Impl& host,
                                                     std::shared_ptr<const GraphSnapshot> graph,
                                                     const SessionOptions& options,
                                                     const TensorTable& tensors,
                                                     const std::vector<bool>& stay);

}  // namespace tenon
