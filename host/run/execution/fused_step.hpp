// A step of a plan that runs a fused elementwise group, block by block.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "device/float_modes.hpp"
#include "io/crash/active_call.hpp"
#include "plan/plan.hpp"
#include "run/execution/kernel_call.hpp"

namespace tenon {

/// Blocks are distributed among the host's threads. Each thread calls the kernels one after the
/// other for its block; intermediate values are in the thread's own scratch memory. The plan, the
/// kernels and `context` outlive it. Threads: one at a time.
class FusedStep {
 public:
  FusedStep(const Plan& plan, const FusedGroup& group, const Kernels& kernels,
            CallContext& context);
  FusedStep(const FusedStep&) = delete;
  FusedStep& operator=(const FusedStep&) = delete;

  /// A step's function; `self` is a FusedStep. A failure's reason is stored in the call's error.
  static std::int32_t run(void* self, const tenon_call* call);

  /// The node whose kernel failed in the last call.
  NodeId failed() const { return group_.nodes[failed_]; }

 private:
  struct Kernel {
    tenon_kernel_function function;
    void* instance;
    const LoadedOperator* op;
    const ActiveCall* running;
  };
  /// The calls and tensors of one thread at a time.
  struct ThreadState {
    std::vector<tenon_tensor> tensors;  // one for each value
    std::deque<tenon_tensor> unread;    // that backward may query only for their types
    std::deque<std::vector<tenon_tensor*>> pointers;
    std::vector<tenon_call> calls;
    ErrorBuffer error;
    std::int64_t whole[2] = {}, row[1] = {}, single[1] = {1};
    std::size_t number = 0;  // index of its part of the scratch memory
  };
  class ThreadStateLease;

  void make_kernels(const Plan& plan, const Kernels& kernels);
  void add_thread_state(const Plan& plan, CallContext& context);
  tenon_tensor tensor_for(ThreadState& state, std::uint8_t dtype, GroupTensor::Extent extent) const;
  void add_call(const Plan& plan, NodeId id, const std::uint32_t* operands,
                const std::uint8_t* writes, ThreadState& state, CallContext& context);
  void find_writers(const Plan& plan);
  std::int32_t run(const tenon_call& call);
  void bind(const tenon_call& call);
  void run_blocks(std::int64_t begin, std::int64_t end) noexcept;
  bool run_block(ThreadState& state, std::int64_t block, const FloatModes& modes,
                 CallSequenceScope& running);
  void bind_block(ThreadState& state, std::int64_t block) const;
  void fail(std::size_t node, ThreadState& state);

  /// The first writer of an output of the group: the output may share memory with what it reads.
  struct Writer {
    std::size_t write = 0;            // index into writes_
    std::vector<std::uint32_t> read;  // indices of values
  };

  const FusedGroup& group_;
  const Threads& threads_;
  tenon_host host_;  // its parallel_for stays on the calling thread
  CallRecords records_;
  std::vector<Kernel> kernels_;
  std::vector<std::uint8_t> writes_;  // as in the group, for this run
  std::vector<Writer> writers_;       // of each output
  std::vector<std::byte*> data_;      // of each value, in this run
  std::deque<ThreadState> thread_states_;
  std::mutex idle_mutex_;
  std::condition_variable returned_;
  std::vector<ThreadState*> idle_;
  tenon_error* error_ = nullptr;
  std::byte* scratch_ = nullptr;
  std::atomic<bool> stopped_ = false;
  std::size_t failed_ = 0;  // written by the thread that sets stopped_
};

}  // namespace tenon
