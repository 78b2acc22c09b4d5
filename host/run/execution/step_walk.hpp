// The steps of a run, called one after the other.
#pragma once
#include <stop_token>

#include "device/current_device.hpp"
#include "io/crash/running.hpp"
#include "run/execution/execution.hpp"

namespace tenon {

/// Throws Failure (failed) if a stop is requested.
void stop_where_asked(const std::stop_token& stop);

/// While it lives, a crash of this thread is reported with the step that runs, and each step gets the floating-point modes that were set
/// when it was made.
class StepWalk {
 public:
  explicit StepWalk(Execution& execution) : execution_(execution), current_(execution.gpu()) {}

  /// A step that start() returned, or one of steps(). Throws its Failure.
  void call(const Step& step) {
    if (!passes(step)) [[unlikely]]
      fail(step);
  }
  /// The same, and false where it failed.
  bool passes(const Step& step) {
    calls_.enter(step.running);
    const bool passed = step.function(step.instance, step.call) == 0;
    execution_.keep_modes(modes_, step);
    return passed;
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void fail(const Step& step) const { throw execution_.failure_of(step); }

  Execution& execution_;
  const CurrentDevice current_;  // with several, each step sets its own
  const FloatModes modes_ = FloatModes::now();
  RunningCalls calls_;
};

}  // namespace tenon
