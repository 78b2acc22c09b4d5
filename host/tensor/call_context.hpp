// What a kernel's call carries of the host (tenon_call::context).
#pragma once
#include "device/threads.hpp"
#include "tensor/sparse_memory.hpp"

namespace tenon {

struct CallContext {
  Threads& threads;
  SparseMemory& sparse;
};

}  // namespace tenon
