// The plans of a session, and the memory that they share.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "run/execution/execution.hpp"
#include "run/session/session_graph.hpp"

namespace tenon {

/// A plan, and its execution after its first run.
struct Planned {
  SessionGraph* graph = nullptr;
  std::shared_ptr<const Plan> plan{};
  std::shared_ptr<const Stage> later{};  ///< the stage to plan after this run; null: last stage
  std::map<ValueId, Tensor>
      evaluated{};          ///< values computed at planning time, which the plan omits
  std::uint64_t used = 0;   ///< time stamp of the last use
  std::uint64_t bytes = 0;  ///< estimated size
  std::unique_ptr<Execution> execution{};
};

/// An LRU cache of plans, bounded by their number and their bytes. The plans share one arena.
/// Threads: one at a time.
class PlanStore {
 public:
  using Key = std::vector<std::int64_t>;

  PlanStore(int capacity, std::uint64_t max_bytes)
      : capacity_(static_cast<std::size_t>(capacity)), max_bytes_(max_bytes) {}

  /// The key: the stage, whether elementwise nodes are fused, and the types, devices and elements
  /// that the plan depends on.
  static Key key_of(const Stage& stage, bool fused, const std::map<ValueId, tenon_type>& inputs,
                    const std::map<ValueId, Device*>& devices, const Inference::Elements& elements);

  /// Returns null if there is none.
  Planned* find(const Key& key);
  Planned& insert(Key key, Planned planned);
  /// Records that the optimized graph cannot be planned for this key, while `fallback`, a stage of
  /// the original graph, can.
  void refuse(Key key, std::shared_ptr<const Stage> fallback);
  /// Returns null if the key is not refused.
  std::shared_ptr<const Stage> fallback_for(const Key& key) const;
  /// Drops all plans of a graph.
  void drop(const SessionGraph& graph);
  /// Drops the plans that use one of the values, and those whose executions refer to its memory.
  void drop_users(std::span<const ValueId> values);
  /// Gives the plan an execution, with room in the arena. Throws Failure (failed) if the memory
  /// limit does not suffice, and changes nothing then. If the system refuses memory, all executions
  /// are gone; plans stay.
  void make_execution(Planned& planned, ExecutionContext context, const Destinations& destinations,
                      std::uint64_t memory_limit);
  /// The plan's execution, with the arena grown as needed; it may use the arena until another
  /// execution is requested. Throws Failure (failed) if memory is short.
  Execution& execution_of(Planned& planned, const ExecutionContext& context,
                          const Destinations& destinations, std::uint64_t memory_limit);

  const std::map<Key, Planned>& all() const { return plans_; }
  std::uint64_t made() const { return made_; }    ///< plans made so far, for tests
  std::uint64_t bytes() const { return bytes_; }  ///< of all plans, estimated
  const Arenas& arenas() const { return arenas_; }
  Planned* last() const { return last_; }  ///< the plan executed last; null if dropped

 private:
  void drop(std::map<Key, Planned>::iterator plan);
  template <class Predicate>
  void drop_if(Predicate predicate);
  void grow_arenas(const Plan& plan, Streams& streams, bool spare);

  std::size_t capacity_;
  std::uint64_t max_bytes_, bytes_ = 0, fallback_bytes_ = 0;
  std::uint64_t uses_ = 0, made_ = 0;
  Arenas arenas_;
  std::map<Key, Planned> plans_;
  std::map<Key, std::shared_ptr<const Stage>> fallbacks_;
  Planned* last_ = nullptr;  // only its execution may hold memory of sparse values
};

}  // namespace tenon
