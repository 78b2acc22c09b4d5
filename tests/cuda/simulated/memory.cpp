#include "memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <list>
#include <map>
#include <set>
#include <string_view>

#include "pool.hpp"
#include "stream.hpp"

using namespace simulated;

namespace {

struct Allocation {
  std::uint64_t bytes;
  cudaMemPool_t pool;  // null: pinned memory of the CPU
};
struct Table {
  std::mutex mutex;
  std::map<std::byte*, Allocation> allocations;
  std::map<int, std::set<cudaMemPool_t>> pools;  // by device
  std::map<int, CUmemPoolHandle_st>
      defaults;  // each device's default pool, whose memory peers cannot access
};
Table& table() {
  static auto& only = *new Table;  // never destroyed: memory may be freed while the process exits
  return only;
}

// Returns the allocation that contains all the bytes; null if there is none.
const Allocation* allocation_of(const void* data, std::uint64_t bytes) {
  const auto begin = static_cast<std::byte*>(const_cast<void*>(data));
  auto after = table().allocations.upper_bound(begin);
  if (after == table().allocations.begin()) return nullptr;
  const auto& [start, found] = *--after;
  const auto offset = static_cast<std::uint64_t>(begin - start);
  return offset <= found.bytes && bytes <= found.bytes - offset ? &found : nullptr;
}

std::uint64_t reserved_on(int device) {
  std::uint64_t sum = 0;
  for (const auto pool : table().pools[device]) sum += pool->reserved;
  return sum + table().defaults[device].reserved;
}

// Returns a freed block that the stream may reuse, or null.
std::byte* idle_block(CUmemPoolHandle_st& pool, std::uint64_t bytes, cudaStream_t stream) {
  const auto fits = [&](const auto& idle) {
    return idle.bytes == bytes && (idle.stream == stream || *idle.passed);
  };
  const auto found = std::find_if(pool.idle.begin(), pool.idle.end(), fits);
  if (found == pool.idle.end()) return nullptr;
  std::byte* memory = found->data;
  pool.idle.erase(found);
  return memory;
}

std::byte* new_block(CUmemPoolHandle_st& pool, std::uint64_t bytes) {
  if (bytes > device_bytes - std::min(device_bytes, reserved_on(pool.device))) return nullptr;
  std::byte* memory = arena_of(pool.device).take(bytes);
  if (memory == nullptr) return nullptr;
  ++counters().mappings;
  pool.reserved += bytes;
  return memory;
}

cudaMemPool_t default_pool(int device) {
  auto& pool = table().defaults[device];
  pool.device = device;
  return &pool;
}

// Frees idle blocks until the pool caches at most `keep` bytes.
void give_back_idle(CUmemPoolHandle_st& pool, std::uint64_t keep) {
  std::erase_if(pool.idle, [&](const auto& idle) {
    if (pool.reserved <= keep || !*idle.passed) return false;
    pool.reserved -= idle.bytes;
    arena_of(pool.device).give(idle.data, idle.bytes);
    return true;
  });
}

bool captures(cudaStream_t stream) {
  const std::lock_guard lock(captures_mutex());
  if (stream->capture) stream->capture->broken = true;
  return stream->capture != nullptr;
}

}  // namespace

bool simulated::on_device(const void* memory, std::uint64_t bytes, int device) {
  const std::lock_guard lock(table().mutex);
  const auto* found = allocation_of(memory, bytes);
  return found != nullptr && found->pool != nullptr && found->pool->device == device;
}

bool simulated::is_pinned(const void* memory, std::uint64_t bytes) {
  const std::lock_guard lock(table().mutex);
  const auto* found = allocation_of(memory, bytes);
  return found != nullptr && found->pool == nullptr;
}

bool simulated::open_to(int owner, int other) {
  const std::lock_guard lock(table().mutex);
  const auto& pools = table().pools[owner];
  return std::all_of(pools.begin(), pools.end(),
                     [&](cudaMemPool_t pool) { return pool->open_to.contains(other); });
}

void simulated::give_back_idle() {
  const std::lock_guard lock(table().mutex);
  for (const auto& [device, pools] : table().pools)
    for (const auto pool : pools) ::give_back_idle(*pool, pool->threshold);
  for (auto& [device, pool] : table().defaults) ::give_back_idle(pool, pool.threshold);
}

bool simulated::has_pools() {
  static const bool has = [] {
    const char* text = std::getenv("TENON_SIMULATED_POOLS");
    return text == nullptr || std::string_view(text) != "0";
  }();
  return has;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (state() != cudaSuccess) return result_of();
  if (!has_pools()) return result_of(cudaErrorNotSupported);
  const std::lock_guard lock(table().mutex);
  *pool = default_pool(device);
  return result_of();
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (state() != cudaSuccess) return result_of();
  if (!has_pools()) return result_of(cudaErrorNotSupported);
  const std::lock_guard lock(table().mutex);
  *pool = new CUmemPoolHandle_st;
  (*pool)->device = properties->location.id;
  table().pools[(*pool)->device].insert(*pool);
  return result_of();
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t keep) {
  if (state() != cudaSuccess) return result_of();
  const std::lock_guard lock(table().mutex);
  ::give_back_idle(*pool, keep);
  return result_of();
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access,
                                 std::size_t count) {
  const std::lock_guard lock(table().mutex);
  for (std::size_t i = 0; i < count; ++i) pool->open_to.insert(access[i].location.id);
  return result_of();
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (attribute != cudaMemPoolAttrReleaseThreshold) return result_of(cudaErrorInvalidValue);
  const std::lock_guard lock(table().mutex);
  pool->threshold = *static_cast<std::uint64_t*>(value);
  return result_of();
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const std::lock_guard lock(table().mutex);
  *static_cast<std::uint64_t*>(value) =
      attribute == cudaMemPoolAttrReleaseThreshold     ? pool->threshold
      : attribute == cudaMemPoolAttrReservedMemCurrent ? pool->reserved
                                                       : pool->used;
  return result_of();
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(table().mutex);
  *total = device_bytes;
  *free = device_bytes - reserved_on(current_device());
  return result_of();
}

cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  if (state() != cudaSuccess) return result_of();
  if (!has_pools()) return result_of(cudaErrorNotSupported);
  if (captures(stream)) return result_of(cudaErrorStreamCaptureUnsupported);
  ++counters().allocations;
  std::byte* found = nullptr;
  {
    const std::lock_guard lock(table().mutex);
    found = idle_block(*pool, bytes, stream);
    if (found == nullptr) found = new_block(*pool, bytes);
    if (found == nullptr) return result_of(cudaErrorMemoryAllocation);
    pool->used += bytes;
    table().allocations[found] = {bytes, pool};
  }
  stream->add(touching(pool->device, [=] {
    allow(found, bytes);
    fill_undefined(found, bytes);
  }));
  *memory = found;
  return result_of();
}

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  cudaMemPool_t pool = nullptr;
  {
    const std::lock_guard lock(table().mutex);
    pool = default_pool(stream->device);
  }
  return cudaMallocFromPoolAsync(memory, bytes, pool, stream);
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  if (state() != cudaSuccess) return result_of();
  if (captures(stream)) return result_of(cudaErrorStreamCaptureUnsupported);
  const std::lock_guard lock(table().mutex);
  const auto found = table().allocations.find(static_cast<std::byte*>(memory));
  if (found == table().allocations.end() || found->second.pool == nullptr)
    return result_of(cudaErrorInvalidValue);
  const auto [data, allocation] = *found;
  allocation.pool->used -= allocation.bytes;
  const auto passed = std::make_shared<std::atomic<bool>>(false);
  allocation.pool->idle.push_back({data, allocation.bytes, stream, passed});
  stream->add(touching(allocation.pool->device, [passed, data = data, bytes = allocation.bytes] {
    abandon(data, bytes);
    *passed = true;
  }));
  table().allocations.erase(found);
  return result_of();
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (state() != cudaSuccess) return result_of();
  if (has_pools()) return result_of(cudaErrorNotSupported);  // must not be called then
  if (refused_by_capture()) return result_of(cudaErrorStreamCaptureUnsupported);
  finish_device();
  ++counters().allocations;
  const std::lock_guard lock(table().mutex);
  const auto pool = default_pool(current_device());
  std::byte* const found = new_block(*pool, bytes);
  if (found == nullptr) return result_of(cudaErrorMemoryAllocation);
  pool->used += bytes;
  table().allocations[found] = {bytes, pool};
  touching(pool->device, [=] {
    allow(found, bytes);
    fill_undefined(found, bytes);
  })();
  *memory = found;
  return result_of();
}

cudaError_t cudaFree(void* memory) {
  if (state() != cudaSuccess) return result_of();
  if (has_pools()) return result_of(cudaErrorNotSupported);
  if (refused_by_capture()) return result_of(cudaErrorStreamCaptureUnsupported);
  finish_device();
  const std::lock_guard lock(table().mutex);
  const auto found = table().allocations.find(static_cast<std::byte*>(memory));
  if (found == table().allocations.end() || found->second.pool == nullptr)
    return result_of(cudaErrorInvalidValue);
  const auto [data, allocation] = *found;
  table().allocations.erase(found);
  touching(allocation.pool->device,
           [data = data, bytes = allocation.bytes] { abandon(data, bytes); })();
  allocation.pool->used -= allocation.bytes;
  allocation.pool->reserved -= allocation.bytes;
  arena_of(allocation.pool->device).give(data, allocation.bytes);
  return result_of();
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (state() != cudaSuccess) return result_of();
  if (refused_by_capture()) return result_of(cudaErrorStreamCaptureUnsupported);
  finish_device();  // CUDA may wait as well
  ++counters().allocations;
  *memory = std::malloc(bytes);
  if (*memory == nullptr) return result_of(cudaErrorMemoryAllocation);
  fill_undefined(static_cast<std::byte*>(*memory), bytes);
  const std::lock_guard lock(table().mutex);
  table().allocations[static_cast<std::byte*>(*memory)] = {bytes, nullptr};
  return result_of();
}

cudaError_t cudaFreeHost(void* memory) {
  if (state() == cudaErrorInitializationError) return result_of();
  cudaDeviceSynchronize();
  const std::lock_guard lock(table().mutex);
  if (table().allocations.erase(static_cast<std::byte*>(memory)) == 0)
    return result_of(cudaErrorInvalidValue);
  std::free(memory);
  return result_of();
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  if (state() != cudaSuccess) return result_of();
  const std::lock_guard lock(table().mutex);
  const auto* found = allocation_of(data, 1);
  *attributes = {};
  attributes->type = found == nullptr         ? cudaMemoryTypeUnregistered
                     : found->pool == nullptr ? cudaMemoryTypeHost
                                              : cudaMemoryTypeDevice;
  if (found != nullptr && found->pool != nullptr) attributes->device = found->pool->device;
  return result_of();
}
