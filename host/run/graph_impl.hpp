// What a Graph consists of.
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
#include "run/inner.hpp"

namespace tenon {

/// Copy on write: clones and sessions share the graph until it is edited. Threads: any may read, as long as none changes it.
struct Graph::Impl {
  explicit Impl(std::shared_ptr<Host::Impl> owner);
  /// Shares everything with the other until one of them is edited.
  Impl(const Impl& other) : Impl(other, other.current) { other.shared_ = true; }
  Impl& operator=(const Impl&) = delete;

  const GraphModel& model() const { return current->model; }
  const Binding& binding() const { return current->binding; }
  PluginSet& plugins() const { return impl_of(host).plugins(); }

  /// For changes of any kind; references to what the graph was before are no longer good.
  GraphSnapshot& edit();
  GraphBuilder builder();
  /// Becomes a graph that was read from a file, with the outputs that newer versions of its operators add.
  void adopt(GraphModel model);
  void bind();
  /// Gives values to variables that have none. Throws Failure (usage).
  void initialize(std::uint64_t seed);

  /// Gives each value for which `tensor_of` has elements those.
  void set_tensors(const std::function<Tensor(ValueId)>& tensor_of);

  /// The same graph, bound and complete. This one stays as it is; until it is edited, or the host gets other operators, all who ask share
  /// one.
  Graph completed();

  /// A value's number here. Throws Failure (usage) for a value of another graph.
  ValueId id_of(Value value) const;
  Value value(ValueId id) const;

  mutable Host host;  // a handle of the graph's own, so that the host lives as long
  std::shared_ptr<GraphSnapshot> current;
  mutable GraphUsers users;
  bool complete = false;  // bound, with all that operators want
  std::uint32_t identity;

 private:
  Impl(const Impl& other, std::shared_ptr<GraphSnapshot> shared);

  struct Ancestor {
    std::uint32_t identity;
    std::size_t values;  // how many the two have in common
  };
  bool owns(Value value) const;

  std::vector<Ancestor> ancestors_;
  mutable std::atomic<bool> shared_ = false;
  std::mutex completing_;
  std::shared_ptr<GraphSnapshot> completed_;  // of an incomplete graph
  std::uint64_t completed_with_ = 0;          // the generation of the operators
};

}  // namespace tenon
