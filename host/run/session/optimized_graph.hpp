// The graph that a session runs in the place of the one it was given.
#pragma once
#include <memory>
#include <tenon/host/session.hpp>

#include "graph/rewrite/rule_set.hpp"
#include "graph/snapshot.hpp"
#include "plan/tensor_table.hpp"
#include "run/host_impl.hpp"

namespace tenon {

/// The rules of a host's plugins, found anew when plugins come. Threads: any.
class RuleCache {
 public:
  std::shared_ptr<const RuleSet> of(PluginSet& plugins);

 private:
  std::mutex mutex_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const RuleSet> rules_;
};

/// A graph of its own, which is bound.
Graph graph_of(Host::Impl& host, GraphSnapshot snapshot);

/// As the options say; the graph itself where there is nothing to do, in sessions that train, and in those that debug. `tensors` has the
/// elements of its variables, states and constants, `stay` says which of them nobody changes. Warns of rules that cannot be.
std::shared_ptr<const GraphSnapshot> optimized_graph(Host::Impl& host, std::shared_ptr<const GraphSnapshot> graph,
                                                     const SessionOptions& options, const TensorTable& tensors,
                                                     const std::vector<bool>& stay);

}  // namespace tenon
