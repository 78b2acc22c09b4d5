// A number that only the device knows.
#pragma once
#include <cstdint>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// The number, once the stream has come to it: the calling thread waits. For sizes of sparse outputs alone; such a kernel is not to be
/// captured. Throws Error.
inline std::int64_t wait_for(const Call& call, const std::int64_t* number) {
  struct Pinned {
    std::int64_t* memory = nullptr;
    Pinned() { require(cudaHostAlloc(reinterpret_cast<void**>(&memory), sizeof *memory, cudaHostAllocDefault)); }
    ~Pinned() { static_cast<void>(cudaFreeHost(memory)); }
  };
  static thread_local const Pinned pinned;  // copies go on their own only to such memory
  require(cudaMemcpyAsync(pinned.memory, number, sizeof *number, cudaMemcpyDeviceToHost, stream_of(call)));
  require(cudaStreamSynchronize(stream_of(call)));
  return *pinned.memory;
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
