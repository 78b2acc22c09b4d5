// What a run changes where it lies, as it was before.
#pragma once
#include <tenon/host/tensor.hpp>
#include <unordered_map>
#include <vector>

#include "run/execution/streams.hpp"

namespace tenon {

/// States, updated variables and destinations that are added to: put back if the run fails. On a GPU the copies are work on the
/// stream of the session's kernels, ahead of theirs, so that a run which succeeds does not wait for them. Threads: one at a time.
class StateBackup {
 public:
  explicit StateBackup(Streams& streams) : streams_(streams) {}
  StateBackup(const StateBackup&) = delete;
  StateBackup& operator=(const StateBackup&) = delete;

  /// Before a step writes the tensor, which is dense and contiguous. The first copy of a run counts. Throws Failure.
  void save(const Tensor& state);
  /// The same for a tensor of the caller, of which nothing is left after the run.
  void save_destination(const Tensor& destination);

  /// The run has succeeded: the memory of the copies waits for the next one.
  void forget() {
    if (!saved_.empty() || !destinations_.empty()) [[unlikely]]
      clear();
  }
  /// The run has failed, and nothing writes the tensors any more. If a device is lost, nothing is put back: reading fails, too.
  void put_back() noexcept;

 private:
  struct Copy {
    Tensor now, before;
    bool saved = false;
  };
  void copy(const Tensor& from, const Tensor& to);
  void clear();

  Streams& streams_;
  std::unordered_map<const void*, Copy> states_;  // by their memory
  std::vector<Copy*> saved_;                      // in this run
  std::vector<Copy> destinations_;                // in this run
};

}  // namespace tenon
