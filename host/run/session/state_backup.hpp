// Backups of tensors that a run changes in place.
#pragma once
#include <tenon/host/tensor.hpp>
#include <unordered_map>
#include <vector>

#include "graph/model.hpp"
#include "plan/tensor_table.hpp"
#include "run/execution/streams.hpp"

namespace tenon {

/// Backs up states, updated variables and accumulating destinations, and restores them if the run
/// fails. On a GPU the copies are enqueued on the session's kernel stream, before the kernels, so
/// that a successful run does not wait for them. Threads: one at a time.
class StateBackup {
 public:
  explicit StateBackup(Streams& streams) : streams_(streams) {}
  StateBackup(const StateBackup&) = delete;
  StateBackup& operator=(const StateBackup&) = delete;

  /// To be called before a step writes the value's tensor, which is dense and contiguous. Only the
  /// first copy of this memory in a run is made. Throws Failure.
  void save(ValueId value, const Tensor& state);
  /// Like save(), for a caller's tensor; the backup is released after the run.
  void save_destination(const Tensor& destination);

  std::size_t copies() const { return states_.size(); }  ///< with memory, for tests
  /// The run succeeded: keeps the backups' memory for the next run.
  void discard() {
    if (!saved_.empty() || !destinations_.empty()) [[unlikely]]
      clear();
  }
  /// The run failed and no longer writes the tensors. `tensors`: those of the graph that ran last,
  /// whose values may have moved into other memory since they were saved. If a device is lost,
  /// nothing is restored: reading fails, too.
  void restore(const TensorTable& tensors) noexcept;

 private:
  struct Copy {
    Tensor now, before;
    bool saved = false;
    ValueId value = none;
  };
  void copy(const Tensor& from, const Tensor& to, std::int64_t bytes);
  void synchronize(const Tensor& tensor);
  void clear();

  Streams& streams_;
  std::unordered_map<const void*, Copy> states_;  // by their memory
  std::vector<Copy*> saved_;                      // in this run
  std::vector<Copy> destinations_;                // in this run
};

}  // namespace tenon
