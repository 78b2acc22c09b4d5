// One call of an operator's kernel, ready to be made as often as one likes.
#pragma once
#include <optional>

#include "device/block.hpp"
#include "io/crash/running.hpp"
#include "run/composed_call.hpp"
#include "run/operator_call.hpp"

namespace tenon {

/// What it is made of must outlive it, but for `context`, which it copies. Threads: one at a time.
class OperatorRun {
 public:
  OperatorRun(const OperatorCall& op, int dispatch, CallTypes& types, const CallTensors& tensors, const CallContext& context);
  OperatorRun(const OperatorRun&) = delete;
  OperatorRun& operator=(const OperatorRun&) = delete;

  void set_random(std::uint64_t seed, std::uint64_t step) { call_.seed = seed, call_.step = step; }  ///< where it draws numbers
  std::int64_t scratch_bytes() const { return composed_ ? composed_->bytes() : static_cast<std::int64_t>(call_.workspace_size); }

  /// Calls the kernel; on a GPU that puts its work on the device's tensor_stream(). Throws Failure (failed) with the kernel's reason.
  void put();
  /// Waits for the work. Throws Failure (failed) with the fault that the kernel found there.
  void finish() const;

 private:
  bool call_kernel();  // whether it failed
  [[noreturn]] void fail(const std::string& reason) const;

  const OperatorCall& op_;
  const Instance* kernel_;  // null: it is composed
  const CallTensors& tensors_;
  const CallTypes& types_;
  const int dispatch_;
  std::optional<Block> workspace_, fault_;  // fault_: on a GPU, where its kernels say what they found
  ErrorBuffer error_;
  SparseMemory memory_;  // where the context has none
  CallContext context_;
  tenon_call call_{};
  std::unique_ptr<ComposedCall> composed_;  // instead of a call
  RunningRecords records_;
  const Running* running_;
};

}  // namespace tenon
