// One call of an operator's kernel, which can be repeated.
#pragma once
#include <optional>

#include "device/block.hpp"
#include "io/crash/active_call.hpp"
#include "run/calls/composed_call.hpp"
#include "run/calls/operator_call.hpp"

namespace tenon {

/// Constructor arguments must outlive it, except `context`, which is copied. Threads: one at a
/// time.
class OperatorRun {
 public:
  OperatorRun(const OperatorCall& op, int dispatch, CallTypes& types, const CallTensors& tensors,
              const CallContext& context);
  OperatorRun(const OperatorRun&) = delete;
  OperatorRun& operator=(const OperatorRun&) = delete;

  void set_random(std::uint64_t seed, std::uint64_t step) {
    call_.seed = seed, call_.step = step;
  }  ///< position of its random numbers
  std::int64_t scratch_bytes() const {
    return composed_ ? composed_->bytes() : static_cast<std::int64_t>(call_.workspace_size);
  }

  /// Calls the kernel; on a GPU the work is enqueued on the device's tensor_stream(). Throws
  /// Failure (failed) with the kernel's reason.
  void launch();
  /// Waits for the work. Throws Failure (failed) with the fault that the kernel reported.
  void finish() const;

 private:
  bool call_kernel();  // returns whether it failed
  [[noreturn]] void fail(const std::string& reason) const;

  const OperatorCall& op_;
  const Instance* kernel_;  // null: composed
  const CallTensors& tensors_;
  const CallTypes& types_;
  const int dispatch_;
  std::optional<Block> workspace_,
      fault_;  // fault_: on a GPU, written by kernels that find a fault
  ErrorBuffer error_;
  SparseMemory memory_;  // used if the context has none
  CallContext context_;
  tenon_call call_{};
  std::unique_ptr<ComposedCall> composed_;  // replaces the call
  CallRecords records_;
  const ActiveCall* running_;
};

}  // namespace tenon
