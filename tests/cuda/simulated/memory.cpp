#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <set>

#include "device.hpp"

struct CUmemPoolHandle_st {
  struct Idle {
    std::byte* data;
    std::uint64_t bytes;
    cudaStream_t stream;
    std::shared_ptr<std::atomic<bool>> passed = std::make_shared<std::atomic<bool>>(false);  // what the stream had to do before
  };
  int device = 0;
  std::uint64_t reserved = 0, used = 0;
  std::list<Idle> idle;
  std::set<int> open_to;
};

namespace {

struct Allocation {
  std::uint64_t bytes;
  cudaMemPool_t pool;  // null: pinned memory of the CPU
};

std::mutex mutex;  // of all below
std::map<std::byte*, Allocation> allocations;
std::map<int, cudaMemPool_t> pools;

// That which the bytes lie in, whole; null where there is none.
const Allocation* allocation_of(const void* data, std::uint64_t bytes) {
  const auto begin = static_cast<std::byte*>(const_cast<void*>(data));
  auto after = allocations.upper_bound(begin);
  if (after == allocations.begin()) return nullptr;
  const auto& [start, found] = *--after;
  const auto offset = static_cast<std::uint64_t>(begin - start);
  return offset <= found.bytes && bytes <= found.bytes - offset ? &found : nullptr;
}

bool on_device(const void* data, std::uint64_t bytes, int device) {
  const auto* found = allocation_of(data, bytes);
  return found != nullptr && found->pool != nullptr && found->pool->device == device;
}

bool is_pinned(const void* data, std::uint64_t bytes) {
  const auto* found = allocation_of(data, bytes);
  return found != nullptr && found->pool == nullptr;
}

void copy_later(void* to, const void* from, std::uint64_t bytes, cudaStream_t stream) {
  stream->add([=] { std::memcpy(to, from, bytes); });
}

}  // namespace

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 1;
  return result_of();
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  const std::lock_guard lock(mutex);
  *pool = pools[properties->location.id] = new CUmemPoolHandle_st;
  (*pool)->device = properties->location.id;
  return result_of();
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  const bool keeps_all = attribute == cudaMemPoolAttrReleaseThreshold && *static_cast<std::uint64_t*>(value) == UINT64_MAX;
  return result_of(keeps_all ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const std::lock_guard lock(mutex);
  *static_cast<std::uint64_t*>(value) = attribute == cudaMemPoolAttrReservedMemCurrent ? pool->reserved : pool->used;
  return result_of();
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
  const std::lock_guard lock(mutex);
  std::erase_if(pool->idle, [&](const auto& idle) {
    if (!*idle.passed) return false;
    pool->reserved -= idle.bytes;
    std::free(idle.data);
    return true;
  });
  return result_of();
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t) {
  const std::lock_guard lock(mutex);
  pool->open_to.insert(access->location.id);
  return result_of();
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(mutex);
  const auto pool = pools.find(current_device());
  *total = device_bytes;
  *free = device_bytes - (pool == pools.end() ? 0 : pool->second->reserved);
  return result_of();
}

cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  const auto fits = [&](const auto& idle) { return idle.bytes == bytes && (idle.stream == stream || *idle.passed); };
  const auto found = std::find_if(pool->idle.begin(), pool->idle.end(), fits);
  if (found != pool->idle.end()) {
    *memory = found->data;
    pool->idle.erase(found);
  } else {
    if (bytes > device_bytes - pool->reserved) return result_of(cudaErrorMemoryAllocation);
    *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    pool->reserved += bytes;
  }
  pool->used += bytes;
  allocations[static_cast<std::byte*>(*memory)] = {bytes, pool};
  return result_of();
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(static_cast<std::byte*>(memory));
  if (found == allocations.end()) return result_of(cudaErrorInvalidValue);
  const auto [bytes, pool] = found->second;
  pool->used -= bytes;
  pool->idle.push_back({found->first, bytes, stream});
  stream->add([passed = pool->idle.back().passed] { *passed = true; });
  allocations.erase(found);
  return result_of();
}

cudaError_t cudaMalloc(void**, std::size_t) {
  return result_of(cudaErrorNotSupported);  // there are pools
}

cudaError_t cudaFree(void*) {
  return result_of(cudaErrorNotSupported);
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  cudaDeviceSynchronize();  // CUDA may wait, too
  const std::lock_guard lock(mutex);
  *memory = std::malloc(bytes);
  allocations[static_cast<std::byte*>(*memory)] = {bytes, nullptr};
  return result_of();
}

cudaError_t cudaFreeHost(void* memory) {
  const std::lock_guard lock(mutex);
  if (allocations.erase(static_cast<std::byte*>(memory)) == 0) return result_of(cudaErrorInvalidValue);
  std::free(memory);
  return result_of();
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  const std::lock_guard lock(mutex);
  const auto* found = allocation_of(data, 1);
  *attributes = {};
  attributes->type = found == nullptr ? cudaMemoryTypeUnregistered : found->pool == nullptr ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  return result_of();
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  const bool to_fits = kind == cudaMemcpyDeviceToHost ? is_pinned(to, bytes) : on_device(to, bytes, stream->device);
  const bool from_fits = kind == cudaMemcpyHostToDevice ? is_pinned(from, bytes) : on_device(from, bytes, stream->device);
  if (!to_fits || !from_fits) return result_of(cudaErrorInvalidValue);
  copy_later(to, from, bytes, stream);
  return result_of();
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock(mutex);
  if (!on_device(to, bytes, to_device) || !on_device(from, bytes, from_device)) return result_of(cudaErrorInvalidValue);
  const bool open = pools[to_device]->open_to.contains(from_device) && pools[from_device]->open_to.contains(to_device);
  if (!open) return result_of(cudaErrorPeerAccessNotEnabled);
  copy_later(to, from, bytes, stream);
  return result_of();
}
