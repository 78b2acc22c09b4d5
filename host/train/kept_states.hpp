// A session's states from before a step of training.
#pragma once
#include <vector>

#include "run/session_impl.hpp"

namespace tenon {

/// On a GPU both copies are work on the stream of the session's kernels, so that a step which does not fail waits for neither.
/// The session outlives it. Threads: one at a time.
class KeptStates {
 public:
  explicit KeptStates(Session::Impl& session);
  ~KeptStates() { finish(); }  // before their memory is given back
  KeptStates(const KeptStates&) = delete;
  KeptStates& operator=(const KeptStates&) = delete;

  /// Before the run that may change them. Throws Failure.
  void keep() const;
  /// Done when it returns. Where a device is lost, nothing is put back: reading the states fails, too.
  void put_back() const noexcept;

 private:
  struct State {
    Tensor now, kept;
    Stream stream;
  };
  void finish() const noexcept;

  std::vector<State> states_;
};

}  // namespace tenon
