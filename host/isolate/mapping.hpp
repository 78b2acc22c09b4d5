// Mapping of memory shared by host and worker.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace tenon::isolate {

inline constexpr std::uint64_t huge_page = 2u << 20;
/// Huge pages pay off from a few pages on.
inline constexpr std::uint64_t min_huge_page_bytes = 4 * huge_page;

/// Aligns large mappings to huge pages, because the system cannot use huge pages otherwise. Returns
/// MAP_FAILED with errno on failure.
inline void* map_shared(int descriptor, std::uint64_t bytes, int protection) {
  if (bytes < min_huge_page_bytes)
    return mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
  void* reserved = mmap(nullptr, bytes + huge_page, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return MAP_FAILED;
  auto* const first = static_cast<std::byte*>(reserved);
  const auto before = (huge_page - reinterpret_cast<std::uintptr_t>(first) % huge_page) % huge_page;
  void* memory = mmap(first + before, bytes, protection, MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (memory == MAP_FAILED) {
    munmap(reserved, bytes + huge_page);
    return MAP_FAILED;
  }
  if (before > 0) munmap(first, before);
  munmap(first + before + bytes, huge_page - before);
  return memory;
}

}  // namespace tenon::isolate
