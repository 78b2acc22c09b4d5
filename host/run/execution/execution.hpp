// Runs a plan.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <tenon/host/failure.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "device/float_modes.hpp"
#include "graph/inference/operator_inference.hpp"
#include "run/execution/gpu_execution.hpp"
#include "run/execution/packed_memory.hpp"

namespace tenon {

/// State that all executions of a session share.
struct ExecutionContext {
  CallContext call;  ///< without memory and stop, which belong to the execution
  Streams* streams = nullptr;
  const Arenas* arenas = nullptr;
  bool constant_weights = false;  ///< as in SessionOptions
  const void* session = nullptr;  ///< the owner of the executions
};

/// A plan with its calls and streams, in the session's arenas, which must have room for it.
/// Kernels, arenas and the session's tensors outlive it. Threads: one at a time.
///
/// A run: set_data() and the like, start(), each of the steps that it returns, finish(). GPU steps
/// only enqueue work on streams; finish() waits for it, once. A run that fails ends with abandon()
/// instead.
class Execution {
 public:
  Execution(std::shared_ptr<const Plan> plan, const Kernels& kernels, const TensorTable& tensors,
            const ExecutionContext& context);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  /// Calls the steps of a run. Throws a step's Failure, or Failure if `stop` was requested.
  void run_steps(const std::stop_token& stop);
  /// States and variables, as values of the session's graph, that a run changes in place.
  const std::vector<ValueId>& changes() const { return changes_; }
  /// Whether nothing can fail once a run has begun to change them.
  bool changes_last() const { return changes_last_; }
  /// The first GPU that runs kernels; null if there is none.
  Device* gpu() const { return gpu_ ? plan_->gpus.devices.front() : nullptr; }
  /// One for each step of the plan.
  const std::vector<Step>& steps() const { return gpu_ ? gpu_->steps() : calls_.steps(); }
  /// The steps to call in this run; captured segments are replaced by launches of their CUDA
  /// graphs.
  const std::vector<Step>& start() {
    if (packed_memory_) packed_memory_->update();
    return gpu_ ? gpu_->start(true) : calls_.steps();
  }
  /// Like start(), but without captured graphs: the caller runs steps() one by one.
  void start_steps() {
    if (packed_memory_) packed_memory_->update();
    if (gpu_) gpu_->start(false);
  }
  /// Why kernels are not captured although the plan captures them; empty if they are.
  std::string capture_failure() const { return gpu_ ? gpu_->capture_failure() : std::string(); }
  /// Updates variables, waits for the GPUs and completes the outputs. Throws Failure that names the
  /// node whose kernel reported a fault, or the range of nodes in which the GPU failed.
  void finish();
  /// Waits for work that was submitted to GPUs, so that its memory may be released.
  void abandon() noexcept {
    if (gpu_) gpu_->abandon();
  }
  /// Waits until the device has finished this step. Throws Failure.
  void wait_for(std::size_t step) const {
    if (gpu_) gpu_->wait_for(step);
  }
  /// To be called after each step: restores `modes` if the step changed the floating-point modes,
  /// and warns about its operator.
  void check_modes(const FloatModes& modes, const Step& step) {
    const auto left = FloatModes::after_call();
    if (left != modes || call_context_.changed_modes) [[unlikely]]
      restore_modes(modes, left, step);
  }
  /// The failure of a step of start() that returned nonzero.
  Failure failure_of(const Step& step) const;

  /// Points an input or a dense output at this run's memory.
  void set_data(ValueId value, void* data) { tensors_.set_data(value, data); }
  /// Like set_data(), for an input of any storage; its indices are int64.
  void set_tensor(ValueId value, const tenon_tensor& tensor) { tensors_.set(value, tensor); }
  const tenon_tensor& tensor(ValueId value) const { return tensors_[value]; }
  /// Returns a sparse output of the finished run; the caller owns it. Throws Failure if a GPU's
  /// kernel violated a rule of its storage.
  Tensor take_sparse(ValueId output);
  std::int64_t sparse_bytes() const {
    return sparse_memory_.bytes();
  }  ///< of internal sparse values, held until the next run
  void free_sparse() { sparse_memory_.clear(); }  ///< between runs
  /// Whether the output's kernels can add to existing contents; set_add() then selects it.
  bool can_add(ValueId output) const;
  void set_add(ValueId output, bool add);
  void set_step(std::uint64_t step) { calls_.set_step(step); }  ///< of the random numbers
  void set_seed(std::uint64_t seed) { calls_.set_seed(seed); }
  /// The stop token that cancellable kernels poll; null after the run.
  void set_stop(const std::stop_token* stop) { call_context_.stop = stop; }

 private:
  void update_variables();
  void copy_value(ValueId variable, const tenon_dense& from, const tenon_dense& to) const;
  void find_changes();
  [[gnu::cold]] void restore_modes(const FloatModes& modes, const FloatModes& left,
                                   const Step& step);

  std::shared_ptr<const Plan> plan_;
  SparseMemory sparse_memory_;
  CallContext call_context_;
  PlanTensors tensors_;
  std::deque<CopyStep> copies_;  // as in the plan's graph
  StepCalls calls_;
  std::optional<PackedMemory> packed_memory_;  // if kernels have packed constants
  std::optional<GpuExecution> gpu_;
  std::map<ValueId, Tensor> old_values_;  // of updated variables that other updates read
  std::vector<ValueId> changes_;
  bool changes_last_ = false;
};

}  // namespace tenon
