// Memory of a CUDA device.
#pragma once
#include <cuda_runtime_api.h>

#include <mutex>
#include <set>

#include "device/device.hpp"

namespace tenon {

/// Keeps what is freed for the next who asks, in the order of streams, so that neither waits for the device. Where the driver has no such
/// pools (some virtual GPUs) memory comes from the device each time, which makes everybody wait.
///
/// Kernels take scratch from the device's default pool, which by default gives all back whenever somebody synchronizes, as sparse kernels
/// do in each call: mapping memory anew takes as long as a kernel. The constructor lets that pool keep 256 MiB, unless it keeps more
/// already.
///
/// Threads: any, at once. The device is the current one.
class MemoryPool {
 public:
  explicit MemoryPool(const Device& device);

  /// Null where there is not enough.
  std::byte* allocate(std::uint64_t bytes, cudaStream_t stream);
  void free(std::byte* memory, cudaStream_t stream) noexcept;
  /// Bytes taken from the device and used by nobody, of both pools.
  std::uint64_t idle() const;
  void give_back_idle();
  /// Lets another device read and write, where the two are linked; asked for again it does nothing.
  void open_to(const Device& other);

 private:
  const Device& device_;
  cudaMemPool_t pool_ = nullptr, kernels_pool_ = nullptr;
  std::mutex mutex_;
  std::set<std::int32_t> asked_;  // devices that it was to be opened to
};

}  // namespace tenon
