// Memory pool of a CUDA device.
#pragma once
#include <cuda_runtime_api.h>

#include <mutex>
#include <set>

#include "device/device.hpp"

namespace tenon {

/// Reuses freed memory in stream order, without waiting for the device. If the driver does not
/// support memory pools (some virtual GPUs), every allocation comes from the device, which
/// synchronizes it.
/// Thread-safe. The device must be current.
class MemoryPool {
 public:
  explicit MemoryPool(const Device& device);

  /// Returns null if there is not enough memory.
  std::byte* allocate(std::uint64_t bytes, cudaStream_t stream);
  void free(std::byte* memory, cudaStream_t stream) noexcept;
  /// Bytes allocated from the device and currently unused.
  std::uint64_t idle() const;
  void release_idle();
  /// Enables access from another device if the two have peer access. Repeated calls do nothing.
  void open_to(const Device& other);

 private:
  std::uint64_t attribute(cudaMemPoolAttr attribute) const;

  const Device& device_;
  cudaMemPool_t pool_ = nullptr;
  std::mutex mutex_;
  std::set<std::int32_t> peers_;  // devices for which open_to() was called
};

}  // namespace tenon
