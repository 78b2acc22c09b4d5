#include "device/cuda/memory_pool.hpp"

#include "device/cuda/failure.hpp"

namespace tenon {

MemoryPool::MemoryPool(const Device& device) : device_(device) {
  int supported = 0;
  check(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device.id()), device,
        "querying memory pool support");
  if (supported == 0) return;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, device.id()};
  check(cudaMemPoolCreate(&pool_, &properties), device, "creating a memory pool");
  // by default, a pool releases all free memory at every synchronization
  std::uint64_t never_release = UINT64_MAX;
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &never_release), device,
        "setting up a memory pool");
}

std::byte* MemoryPool::allocate(std::uint64_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  const auto result = pool_ == nullptr ? cudaMalloc(&memory, bytes)
                                       : cudaMallocFromPoolAsync(&memory, bytes, pool_, stream);
  if (result != cudaErrorMemoryAllocation) check(result, device_, "allocating memory");
  cudaGetLastError();
  return static_cast<std::byte*>(memory);
}

void MemoryPool::free(std::byte* memory, cudaStream_t stream) noexcept {
  const auto result = pool_ == nullptr ? cudaFree(memory) : cudaFreeAsync(memory, stream);
  if (result != cudaSuccess)
    cudaGetLastError();  // the device is lost; the next call that can fail reports it
}

std::uint64_t MemoryPool::attribute(cudaMemPoolAttr attribute) const {
  std::uint64_t value = 0;
  check(cudaMemPoolGetAttribute(pool_, attribute, &value), device_, "querying a memory pool");
  return value;
}

std::uint64_t MemoryPool::idle() const {
  return pool_ == nullptr ? 0
                          : attribute(cudaMemPoolAttrReservedMemCurrent) -
                                attribute(cudaMemPoolAttrUsedMemCurrent);
}

void MemoryPool::release_idle() {
  if (pool_ != nullptr) check(cudaMemPoolTrimTo(pool_, 0), device_, "releasing idle memory");
}

void MemoryPool::open_to(const Device& other) {
  const std::lock_guard lock(mutex_);
  if (pool_ == nullptr || !peers_.insert(other.id()).second) return;
  int linked = 0;
  check(cudaDeviceCanAccessPeer(&linked, other.id(), device_.id()), device_,
        "querying peer access");
  if (linked == 0) return;  // CUDA then stages copies through CPU memory
  cudaMemAccessDesc access{};
  access.location = {cudaMemLocationTypeDevice, other.id()};
  access.flags = cudaMemAccessFlagsProtReadWrite;
  check(cudaMemPoolSetAccess(pool_, &access, 1), device_, "enabling peer access to a memory pool");
}

}  // namespace tenon
