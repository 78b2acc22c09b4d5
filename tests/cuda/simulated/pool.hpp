// A memory pool of a simulated GPU.
#pragma once
#include <atomic>
#include <list>
#include <memory>
#include <set>

#include "cuda_runtime_api.h"

struct CUmemPoolHandle_st {
  struct Idle {
    std::byte* data;
    std::uint64_t bytes;
    cudaStream_t stream;
    std::shared_ptr<std::atomic<bool>> passed;  // whether the stream's earlier work is done
  };
  int device = 0;
  std::uint64_t reserved = 0, used = 0, threshold = 0;
  std::list<Idle> idle;
  std::set<int> open_to;
};

namespace simulated {

/// Whether another device may access the owner's memory.
bool open_to(int owner, int other);

}  // namespace simulated
