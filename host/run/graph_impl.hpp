// The implementation of Graph.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <vector>

#include "graph/builder.hpp"
#include "graph/snapshot.hpp"
#include "run/graph_users.hpp"
#include "run/host_impl.hpp"
#include "run/impl_access.hpp"

namespace tenon {

/// Copy on write: clones and sessions share the graph until it is edited. Threads: any number of
/// readers, as long as no thread edits it.
struct Graph::Impl {
  explicit Impl(std::shared_ptr<Host::Impl> owner);
  /// Shares all contents with the other until one of them is edited.
  Impl(const Impl& other) : Impl(other, other.current) { other.shared_ = true; }
  Impl& operator=(const Impl&) = delete;

  const GraphModel& model() const { return current->model; }
  const Binding& binding() const { return current->binding; }
  PluginSet& plugins() const { return impl_of(host).plugins(); }

  /// Returns the snapshot for any edit; invalidates references to the previous contents.
  GraphSnapshot& edit();
  GraphBuilder builder();
  /// Takes over a graph that was read from a file, and adds the outputs that newer versions of its
  /// operators have.
  void adopt(GraphModel model);
  void bind();
  /// Initializes variables without values. Throws Failure (usage).
  void initialize(std::uint64_t seed);

  /// Sets the tensor of each value for which `tensor_of` returns one.
  void set_tensors(const std::function<Tensor(ValueId)>& tensor_of);

  /// The graph, with types that follow from the present elements of its constants. Throws Failure
  /// if a node refuses them.
  std::shared_ptr<const GraphSnapshot> up_to_date();

  /// Returns a bound and complete copy of this graph, which is unchanged. Cached until the graph is
  /// edited, the host's operators change, or the application writes to constants that determined
  /// types; callers share it.
  Graph completed();

  /// The value's id in this graph. Throws Failure (usage) for a value of another graph.
  ValueId id_of(Value value) const;
  Value value(ValueId id) const;

  mutable Host host;  // keeps the host alive
  std::shared_ptr<GraphSnapshot> current;
  mutable GraphUsers users;
  bool complete = false;  // bound, with all implicit inputs
  std::uint32_t identity;

 private:
  Impl(const Impl& other, std::shared_ptr<GraphSnapshot> shared);

  struct Ancestor {
    std::uint32_t identity;
    std::size_t values;  // number of values that both have
  };
  bool owns(Value value) const;

  std::vector<Ancestor> ancestors_;
  mutable std::atomic<bool> shared_ = false;
  std::mutex completing_;
  std::shared_ptr<GraphSnapshot> completed_;  // of an incomplete graph
  HostVersion completed_with_;                // the operators
};

}  // namespace tenon
