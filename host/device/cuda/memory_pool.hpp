// Memory of a CUDA device.
#pragma once
#include <cuda_runtime_api.h>

#include <mutex>
#include <set>

#include "device/device.hpp"

namespace tenon {

/// Keeps what is freed for the next who asks, in the order of streams, so that neither waits for the device. Where the driver has no such
/// pools (some virtual GPUs) memory comes from the device each time, which makes everybody wait.
/// Threads: any, at once. The device is the current one.
class MemoryPool {
 public:
  explicit MemoryPool(const Device& device);

  /// Null where there is not enough.
  std::byte* allocate(std::uint64_t bytes, cudaStream_t stream);
  void free(std::byte* memory, cudaStream_t stream) noexcept;
  /// Bytes taken from the device and used by nobody.
  std::uint64_t idle() const;
  void give_back_idle();
  /// Lets another device read and write, where the two are linked; asked for again it does nothing.
  void open_to(const Device& other);

 private:
  std::uint64_t attribute(cudaMemPoolAttr attribute) const;

  const Device& device_;
  cudaMemPool_t pool_ = nullptr;
  std::mutex mutex_;
  std::set<std::int32_t> asked_;  // devices that it was to be opened to
};

}  // namespace tenon
