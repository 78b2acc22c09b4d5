// What a kernel's call carries of the host (tenon_call::context).
#pragma once
#include <atomic>

#include "device/threads.hpp"
#include "tensor/sparse_memory.hpp"

namespace tenon {

struct CallContext {
  Threads& threads;
  SparseMemory& sparse;
  std::atomic<bool> left_modes = false;  ///< a body of a parallel loop left floating-point modes changed
  bool filled = false;                   ///< outputs and workspace have a content before the call that a worker process must see, too
};

}  // namespace tenon
