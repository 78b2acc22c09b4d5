// The plans of a session, and the memory that they share.
#pragma once
#include <map>
#include <memory>
#include <tenon/host/session.hpp>
#include <vector>

#include "plan/stages.hpp"
#include "run/execution/execution.hpp"

namespace tenon {

/// A plan, and what runs it, once something has.
struct Planned {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const Stage> later{};   ///< what is planned when this has run; null: nothing is left
  std::map<ValueId, Tensor> evaluated{};  ///< what planning has computed, and the plan does not
  std::uint64_t used = 0;                 ///< the larger, the later it was used
  std::unique_ptr<Execution> execution{};
};

/// At most so many plans; the one not used for the longest time goes first. Their memory is that of the one that needs most. Threads: one
/// at a time.
class PlanCache {
 public:
  using Key = std::vector<std::int64_t>;  ///< what a plan was made for

  explicit PlanCache(int most) : most_(static_cast<std::size_t>(most)) {}

  /// Null where it is not among them.
  Planned* find(const Key& key);
  Planned& keep(Key key, std::shared_ptr<const Plan> plan, std::shared_ptr<const Stage> later, std::map<ValueId, Tensor> evaluated);
  /// With room in the arenas, which belong to this run then. Throws Failure (failed) where memory is short.
  Execution& execution_of(Planned& planned, const Kernels& kernels, const TensorTable& tensors, ExecutionContext context,
                          const Destinations& destinations, std::uint64_t memory_limit);

  const std::map<Key, Planned>& all() const { return plans_; }
  const Arenas& arenas() const { return arenas_; }
  Planned* last() const { return last_; }  ///< the one whose execution was given out last; null: it is gone

 private:
  void make_room(const Plan& plan, Streams& streams, bool spare);

  std::size_t most_;
  std::uint64_t uses_ = 0;
  Arenas arenas_;
  std::map<Key, Planned> plans_;
  Planned* last_ = nullptr;  // whose execution was given out: the only one that may hold memory of sparse values
};

}  // namespace tenon
