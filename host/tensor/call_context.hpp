// What a kernel's call carries of the host (tenon_call::context).
#pragma once
#include <atomic>
#include <cstdint>
#include <stop_token>
#include <string_view>

#include "device/threads.hpp"
#include "tensor/sparse_memory.hpp"

namespace tenon {

/// Takes the lines that kernels write. Threads: any.
class KernelLog {
 public:
  virtual ~KernelLog() = default;
  /// Level: enum tenon_log_level.
  virtual void add(std::int32_t level, std::string_view text) = 0;
};

struct CallContext {
  Threads& threads;
  SparseMemory& sparse;
  KernelLog* log = nullptr;               ///< null: lines are dropped
  const std::stop_token* stop = nullptr;  ///< null: nobody can cancel the call
  std::atomic<bool> left_modes = false;   ///< a body of a parallel loop left floating-point modes changed
  bool filled = false;                    ///< outputs and workspace have a content before the call that a worker process must see, too
};

}  // namespace tenon
