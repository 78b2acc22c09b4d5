// Runs with an observer of each step: traced, profiled and debugged runs, and those that report
// finished outputs.
#pragma once
#include <map>
#include <span>
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "plan/step_cost.hpp"
#include "run/execution/execution.hpp"
#include "run/session/trace.hpp"

namespace tenon {

/// Called around each step of a run; the step, also on a GPU, is complete when after() is called.
/// Exceptions end the run.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void before(std::size_t) {}
  /// Returns false to end the run.
  virtual bool after(std::size_t step) = 0;
};

/// Calls the steps without captured graphs, and the observers in their order around each. Throws a
/// step's Failure, or Failure if `stop` was requested.
void run_observed(Execution& execution, std::span<StepObserver* const> observers,
                  const std::stop_token& stop);

/// Times by node and kind of work.
using NodeTimes = std::map<std::pair<std::string, std::string>, NodeTime>;

/// Measures steps for a trace, for times, or for both.
class StepTimer : public StepObserver {
 public:
  /// `trace`, `times`: null if not requested. `run_begin`: set in the run's first stage, which
  /// later ones continue.
  StepTimer(const Execution& execution, const Kernels& kernels, Trace* trace, NodeTimes* times,
            std::optional<Trace::Clock::time_point>& run_begin);
  void before(std::size_t step) override;
  bool after(std::size_t step) override;

 private:
  const Plan& plan_;
  Trace* const trace_;
  NodeTimes* const times_;
  const std::vector<StepCost> costs_;
  Trace::Clock::time_point run_begin_, begin_;
};

/// Refuses a CPU kernel that leaves an element of its outputs unwritten. Kernels on GPUs are not
/// checked.
class UnwrittenElements : public StepObserver {
 public:
  explicit UnwrittenElements(const Execution& execution)
      : execution_(execution), plan_(execution.plan()) {}
  void before(std::size_t step) override;
  bool after(std::size_t step) override;

 private:
  bool checks(std::size_t step) const {
    return plan_.copy_of(step) == none && plan_.device_of(step).is_cpu();
  }
  const Execution& execution_;
  const Plan& plan_;
};

/// Finds NaN and infinities. The run ends with the first step that produces one.
class NonFiniteValues : public StepObserver {
 public:
  /// Checks the inputs, variables and states first.
  explicit NonFiniteValues(const Execution& execution);
  bool after(std::size_t step) override;
  const std::string& found() const {
    return found_;
  }  ///< value, element and number; empty if all are finite

 private:
  const Execution& execution_;
  std::string found_;
};

/// Calls RunOptions::on_output_ready for each output in its destination, after the last step that
/// writes it.
class OutputNotifier : public StepObserver {
 public:
  OutputNotifier(const Execution& execution, const Destinations& destinations,
                 const NamedTensors& outputs,
                 const std::function<void(const std::string&)>& on_output_ready);
  bool after(std::size_t step) override;

 private:
  const std::function<void(const std::string&)>& on_output_ready_;
  std::vector<std::vector<std::string>> completed_;  // by step
};

}  // namespace tenon
