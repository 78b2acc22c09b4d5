// Runs a plan.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <tenon/host/failure.hpp>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "device/float_modes.hpp"
#include "graph/operator_inference.hpp"
#include "run/execution/gpu_execution.hpp"
#include "run/execution/kept_memory.hpp"

namespace tenon {

/// What a session gives to all its executions.
struct ExecutionContext {
  CallContext call;  ///< but for memory and stop, which are an execution's own
  Streams* streams = nullptr;
  const Arenas* arenas = nullptr;
  bool constant_weights = false;  ///< as in SessionOptions
  const void* session = nullptr;  ///< whose executions these are
};

/// A plan with calls and streams, in the session's arenas, which hold it. Kernels, arenas and the session's tensors outlive it. Threads:
/// one at a time.
///
/// A run: set_data() and the like, start(), each of the steps that it returns, finish(). Steps on a GPU only submit work to its streams;
/// finish() waits for it, once. A run that fails ends with abandon() instead.
class Execution {
 public:
  Execution(std::shared_ptr<const Plan> plan, const Kernels& kernels, const TensorTable& tensors, const ExecutionContext& context);
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  const Plan& plan() const { return *plan_; }
  const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  /// Calls the steps of a run. Throws a step's Failure, or that `stop` was requested.
  void run_steps(const std::stop_token& stop);
  /// States and variables that a run changes where they lie: values of the session's graph.
  const std::vector<ValueId>& changes() const { return changes_; }
  /// Whether nothing can fail in a run that has begun to change them.
  bool changes_last() const { return changes_last_; }
  /// The first of the GPUs whose kernels run; null: none.
  Device* gpu() const { return gpu_ ? plan_->gpus.devices.front() : nullptr; }
  /// One for each step of the plan.
  const std::vector<Step>& steps() const { return gpu_ ? gpu_->steps() : calls_.steps(); }
  /// What to call in this run: the steps, or launches of captured graphs instead of some.
  const std::vector<Step>& start() {
    if (kept_) kept_->update();
    return gpu_ ? gpu_->start(true) : calls_.steps();
  }
  /// The same, without captured graphs: steps() are to be called one by one.
  void start_steps() {
    if (kept_) kept_->update();
    if (gpu_) gpu_->start(false);
  }
  /// Why kernels are not captured although the plan says so; empty if they are.
  std::string capture_failure() const { return gpu_ ? gpu_->capture_failure() : std::string(); }
  /// Updates variables, waits for the GPUs and completes the outputs. Throws Failure that names the node whose kernel reported a fault, or
  /// the nodes among which the GPU failed.
  void finish();
  /// Waits for what was submitted to GPUs, so that memory may be given back.
  void abandon() noexcept {
    if (gpu_) gpu_->abandon();
  }
  /// Waits until the device is done with this step. Throws Failure.
  void wait_for(std::size_t step) const {
    if (gpu_) gpu_->wait_for(step);
  }
  /// After each step: puts back the floating-point modes that it left changed, which `modes` are, and warns of its operator.
  void keep_modes(const FloatModes& modes, const Step& step) {
    const auto left = FloatModes::after_call();
    if (left != modes || call_context_.left_modes) [[unlikely]]
      put_modes_back(modes, left, step);
  }
  /// Of a step that start() returned and that did not return 0.
  Failure failure_of(const Step& step) const;

  /// Points an input or a dense output at this run's memory.
  void set_data(ValueId value, void* data) { tensors_.set_data(value, data); }
  /// The same for an input of any storage; its indices are int64.
  void set_tensor(ValueId value, const tenon_tensor& tensor) { tensors_.set(value, tensor); }
  const tenon_tensor& tensor(ValueId value) const { return tensors_[value]; }
  /// A sparse output of the run that is over; it belongs to the caller then. Throws Failure where a GPU's kernel broke a rule of its
  /// storage.
  Tensor take_sparse(ValueId output);
  std::int64_t sparse_bytes() const { return sparse_memory_.bytes(); }  ///< held for sparse values inside, until the next run
  void free_sparse() { sparse_memory_.clear(); }                        ///< between runs
  /// Whether an output's kernels can add to what is there; set_add then says whether they do.
  bool can_add(ValueId output) const;
  void set_add(ValueId output, bool add);
  void set_step(std::uint64_t step) { calls_.set_step(step); }  ///< of the random numbers
  void set_seed(std::uint64_t seed) { calls_.set_seed(seed); }
  /// What kernels look at that may be cancelled; null after the run.
  void set_stop(const std::stop_token* stop) { call_context_.stop = stop; }

 private:
  void update_variables();
  void find_changes();
  [[gnu::cold]] void put_modes_back(const FloatModes& modes, const FloatModes& left, const Step& step);

  std::shared_ptr<const Plan> plan_;
  SparseMemory sparse_memory_;
  CallContext call_context_;
  PlanTensors tensors_;
  std::deque<CopyStep> copies_;  // as in the plan's graph
  StepCalls calls_;
  std::optional<KeptMemory> kept_;  // where kernels keep anything
  std::optional<GpuExecution> gpu_;
  std::vector<ValueId> changes_;
  bool changes_last_ = false;
};

}  // namespace tenon
