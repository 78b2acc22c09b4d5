// The GPU side of an execution: streams, events, captures, staged copies and faults, as the plan's
// GpuSchedule specifies.
#pragma once
#include <deque>
#include <optional>
#include <vector>

#include "run/execution/captures.hpp"
#include "run/execution/faults.hpp"
#include "run/execution/step_calls.hpp"

namespace tenon {

/// All constructor arguments outlive it. Threads: one at a time.
class GpuExecution {
 public:
  GpuExecution(const Plan& plan, StepCalls& calls, const PlanTensors& tensors,
               std::deque<CopyStep>& copies, Streams& streams, const Arenas& arenas);
  GpuExecution(const GpuExecution&) = delete;
  GpuExecution& operator=(const GpuExecution&) = delete;

  /// One for each step of the plan.
  const std::vector<Step>& steps() const { return steps_; }
  /// The steps to call in this run; with `captured`, captured segments are replaced by launches of
  /// their CUDA graphs.
  const std::vector<Step>& start(bool captured);
  std::string capture_failure() const { return captures_ ? captures_->failure() : std::string(); }

  /// The stream of a device's kernels; after join() it waits for all work on the device's streams.
  /// Null if the plan does not use the device.
  const Stream* stream_of(const Device& device) const;
  void join();
  /// Waits for the GPUs and completes staged copies to the CPU. Throws Failure that names the node
  /// whose kernel reported a fault, or the range of nodes in which the GPU failed.
  void finish();
  void abandon() noexcept;  ///< waits, also after failures
  /// Waits until the device has finished this step. Throws Failure.
  void wait_for(std::size_t step) const;

 private:
  struct Gpu {
    Stream stream;  // of its kernels
    Faults faults;
    const StreamSync* end = nullptr;  // waits for all work that a run submits to the device
  };

  void stage_copies(const Arenas& arenas);
  void add_device(Device& device, Streams& streams);
  void add_syncs();
  std::vector<CaptureSegment> find_segments() const;
  void wrap_steps();
  template <class Work>
  void for_each_gpu(Work work);
  void report_fault(Gpu& gpu) const;

  const Plan& plan_;
  StepCalls& calls_;
  const PlanTensors& tensors_;
  std::deque<CopyStep>& copies_;
  std::vector<Stream> streams_;   // as plan_.gpus.streams
  std::vector<Gpu> gpus_;         // as plan_.gpus.devices
  std::deque<StreamSync> syncs_;  // as plan_.gpus.work
  std::deque<GpuStep> gpu_steps_;
  std::vector<Step> steps_;
  std::vector<std::uint64_t>
      key_;  // key of captures: addresses and write modes of plan_.gpus.rebound, and the elements
             // of plan_.gpus.read_constants
  std::optional<Captures> captures_;
};

}  // namespace tenon
