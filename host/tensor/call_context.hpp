// What a kernel's call carries of the host (tenon_call::context).
#pragma once
#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string_view>

#include "device/threads.hpp"
#include "tensor/error_buffer.hpp"
#include "tensor/sparse_memory.hpp"

namespace tenon {

/// Takes the lines that kernels write. Threads: any.
class KernelLog {
 public:
  virtual ~KernelLog() = default;
  /// Level: enum tenon_log_level.
  virtual void add(std::int32_t level, std::string_view text) = 0;
};

/// What a call has of the host and of whoever makes it.
struct CallContext {
  Threads& threads;
  std::uint64_t seed = 0, step = 0;  ///< of random numbers
  bool training = false;
  SparseMemory* memory = nullptr;         ///< of outputs that kernels allocate; null: they have none
  KernelLog* log = nullptr;               ///< null: lines are dropped
  const std::stop_token* stop = nullptr;  ///< null: nobody can cancel the call
  const tenon_host* host = nullptr;
  ErrorBuffer* error = nullptr;
  bool left_modes = false;  ///< a body of a parallel loop left floating-point modes changed; threads use leave_modes()
  bool filled = false;      ///< outputs and workspace have a content before the call that a worker process must see, too

  void leave_modes() { std::atomic_ref(left_modes).store(true, std::memory_order_relaxed); }
};

}  // namespace tenon
