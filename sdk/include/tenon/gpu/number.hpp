// Reads a number from device memory, such as the number of elements of a sparse output.
#pragma once
#include <cstdint>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Waits until the stream has done all work enqueued so far, and returns the number; `number`
/// points to device memory. Use it only for the sizes of sparse outputs, in forward_sparse and
/// backward_sparse, which Tenon never captures: waiting stalls the host, and is an error in a
/// captured kernel. Throws Error, also for earlier work that failed.
///
/// Example:
///
///     // sums[rows]: number of elements of the result
///     tenon::gpu::scan(call, rows, stored_in_row, sums, scratch);
///     const auto y = call.allocate_csr<float>(0, tenon::gpu::wait_for(call, sums + rows));
inline std::int64_t wait_for(const Call& call, const std::int64_t* number) {
  struct Pinned {
    std::int64_t* memory = nullptr;
    Pinned() {
      require(
          cudaHostAlloc(reinterpret_cast<void**>(&memory), sizeof *memory, cudaHostAllocDefault));
    }
    ~Pinned() { static_cast<void>(cudaFreeHost(memory)); }
  };
  static thread_local const Pinned pinned;  // only copies to pinned memory are asynchronous
  require(cudaMemcpyAsync(pinned.memory, number, sizeof *number, cudaMemcpyDeviceToHost,
                          stream_of(call)));
  require(cudaStreamSynchronize(stream_of(call)));
  return *pinned.memory;
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
