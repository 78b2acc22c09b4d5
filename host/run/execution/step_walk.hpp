// Calls the steps of a run one after the other.
#pragma once
#include <stop_token>

#include "device/device.hpp"
#include "io/crash/active_call.hpp"
#include "run/execution/execution.hpp"

namespace tenon {

/// Throws Failure (failed) if a stop is requested.
void throw_if_stop_requested(const std::stop_token& stop);

/// During its lifetime, a crash of this thread is reported with the running step, and each step
/// gets the floating-point modes that were set at construction.
class StepWalk {
 public:
  explicit StepWalk(Execution& execution) : execution_(execution), current_(execution.gpu()) {}

  /// Calls a step of start() or steps(). Throws its Failure.
  void call(const Step& step) {
    if (!try_call(step)) [[unlikely]]
      fail(step);
  }
  /// Like call(), but returns false if the step failed.
  bool try_call(const Step& step) {
    calls_.enter(step.running);
    const bool passed = step.function(step.instance, step.call) == 0;
    execution_.check_modes(modes_, step);
    return passed;
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const Step& step) const {
    throw execution_.failure_of(step);
  }

  Execution& execution_;
  const CurrentDevice current_;  // with several GPUs, each step sets its own
  const FloatModes modes_ = FloatModes::now();
  CallSequenceScope calls_;
};

}  // namespace tenon
