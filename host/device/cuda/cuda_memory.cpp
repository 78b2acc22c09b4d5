// CudaDevice: memory.
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/failure.hpp"
#include "device/device.hpp"
#include "device/devices.hpp"
#include "device/memory.hpp"

namespace tenon {

// 8 TiB, more than any device has; CUDA may misinterpret such sizes
static constexpr std::uint64_t max_bytes = std::uint64_t{1} << 43;

MemoryPool& CudaDevice::pool() {
  const std::lock_guard lock(mutex_);
  if (!pool_) pool_ = std::make_unique<MemoryPool>(*this);
  return *pool_;
}

std::byte* CudaDevice::allocate(std::uint64_t bytes, void* stream, const char* what) {
  const CurrentDevice current(*this);
  std::byte* found = nullptr;
  if (bytes <= max_bytes) {
    const auto whole = bytes == 0 ? memory_alignment : align_up(bytes);
    found = pool().allocate(whole, static_cast<cudaStream_t>(stream));
    if (found == nullptr) {
      synchronize();  // memory that other streams are about to free may suffice
      pool().release_idle();
      found = pool().allocate(whole, static_cast<cudaStream_t>(stream));
    }
  }
  if (found == nullptr) throw out_of_memory(name(), what, bytes, memory());
  return found;
}

void CudaDevice::free(std::byte* memory, void* stream) noexcept {
  // the pool exists, because `memory` came from it
  pool_->free(memory, static_cast<cudaStream_t>(stream));
}

std::byte* CudaDevice::allocate_pinned(std::uint64_t bytes, const char* what) {
  const CurrentDevice current(*this);
  void* memory = nullptr;
  if (bytes > max_bytes) throw out_of_memory("the CPU", what, bytes, cpu_device().memory());
  const std::unique_lock lock(
      captures_);  // the driver may synchronize the device, here and when memory is freed
  // Portable: pinned for all devices, so copies with peers are fast, too.
  const auto result =
      cudaHostAlloc(&memory, bytes == 0 ? memory_alignment : bytes, cudaHostAllocPortable);
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw out_of_memory("the CPU", what, bytes, cpu_device().memory());
  }
  check(result, *this, "allocating pinned memory");
  return static_cast<std::byte*>(memory);
}

void CudaDevice::free_pinned(std::byte* memory) noexcept {
  const std::unique_lock lock(captures_);
  if (cudaFreeHost(memory) != cudaSuccess) cudaGetLastError();
}

}  // namespace tenon
