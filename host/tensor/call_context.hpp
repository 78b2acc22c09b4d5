// The host's data in a kernel call (tenon_call::context).
#pragma once
#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string_view>

#include "device/threads.hpp"
#include "tensor/error_buffer.hpp"
#include "tensor/sparse/sparse_memory.hpp"

namespace tenon {

/// Receives the log messages of kernels. Thread-safe.
class KernelLog {
 public:
  virtual ~KernelLog() = default;
  /// `level`: enum tenon_log_level.
  virtual void add(std::int32_t level, std::string_view text) = 0;
};

/// Everything that a kernel call needs from the host and the caller.
struct CallContext {
  Threads& threads;
  std::uint64_t seed = 0, step = 0;  ///< for random numbers
  bool training = false;
  /// for outputs that kernels allocate; null if there are none
  SparseMemory* memory = nullptr;
  KernelLog* log = nullptr;               ///< null: messages are dropped
  const std::stop_token* stop = nullptr;  ///< null: the call cannot be cancelled
  const tenon_host* host = nullptr;
  ErrorBuffer* error = nullptr;
  /// the body of a parallel loop changed the floating-point modes; set through note_changed_modes()
  bool changed_modes = false;
  bool filled =
      false;  ///< outputs or workspace have contents that a worker process must see as well

  void note_changed_modes() {
    std::atomic_ref(changed_modes).store(true, std::memory_order_relaxed);
  }
};

}  // namespace tenon
