// Exposes a stop token to cancellable kernels during a run.
#pragma once
#include <stop_token>

#include "run/execution/execution.hpp"

namespace tenon {

/// The caller owns the token; the execution outlives this.
class WatchedStop {
 public:
  WatchedStop(Execution& execution, const std::stop_token& stop) : execution_(execution) {
    execution.set_stop(stop.stop_possible() ? &stop : nullptr);
  }
  ~WatchedStop() { execution_.set_stop(nullptr); }
  WatchedStop(const WatchedStop&) = delete;
  WatchedStop& operator=(const WatchedStop&) = delete;

 private:
  Execution& execution_;
};

}  // namespace tenon
