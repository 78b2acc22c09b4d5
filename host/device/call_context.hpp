// What a kernel's call carries of the host (tenon_call::context).
#pragma once
#include "device/sparse_memory.hpp"
#include "device/threads.hpp"

namespace tenon {

struct CallContext {
  Threads& threads;
  SparseMemory& sparse;
};

}  // namespace tenon
