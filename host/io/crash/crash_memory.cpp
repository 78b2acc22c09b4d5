#include "io/crash/crash_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

namespace tenon {
namespace {

// of address space; pages are allocated on use
constexpr std::size_t shared_bytes = std::size_t{16} << 20;
constexpr std::size_t max_alignment = alignof(std::max_align_t);

std::byte* begin = nullptr;  // null if nothing is shared
std::size_t used = 0;
bool left = false;

std::mutex& taking() {
  static std::mutex mutex;
  return mutex;
}

constexpr std::size_t rounded(std::size_t bytes) {
  return (bytes + max_alignment - 1) / max_alignment * max_alignment;
}

void* allocate_shared_pages(std::size_t bytes) {
  const std::lock_guard lock(taking());
  if (begin == nullptr || left || bytes > shared_bytes - used) return nullptr;
  auto* const memory = begin + used;
  used += bytes;
  return memory;
}

}  // namespace

bool share_crash_memory() noexcept {
  if (begin != nullptr) return true;
  void* pages = mmap(nullptr, shared_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return false;
  begin = static_cast<std::byte*>(pages);
  return true;
}

void detach_crash_memory() noexcept {
  left = true;
}

void* allocate_crash_memory(std::size_t bytes) {
  bytes = rounded(std::max(bytes, max_alignment));
  if (void* shared = allocate_shared_pages(bytes)) return std::memset(shared, 0, bytes);
  return std::memset(::operator new(bytes), 0, bytes);
}

// Frees the most recent allocation for reuse, as plans come and go in turns. Other shared bytes
// stay allocated.
void free_crash_memory(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  bytes = rounded(std::max(bytes, max_alignment));
  if (!is_shared_crash_memory(memory, bytes)) return ::operator delete(memory);
  const std::lock_guard lock(taking());
  if (!left && static_cast<std::byte*>(memory) + bytes == begin + used) used -= bytes;
}

bool is_shared_crash_memory(const void* memory, std::size_t bytes) noexcept {
  if (begin == nullptr || memory == nullptr || bytes > shared_bytes) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(memory),
             first = reinterpret_cast<std::uintptr_t>(begin);
  return at >= first && at - first <= shared_bytes - bytes;
}

}  // namespace tenon
