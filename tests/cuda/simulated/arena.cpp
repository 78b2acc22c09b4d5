#include "arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "state.hpp"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace simulated {
namespace {

constexpr std::uint64_t space =
    std::uint64_t{8} << 30;  // larger than device memory, so that gaps between blocks do not matter
constexpr std::uint64_t grain = 256;
constexpr std::uint64_t page = 2 << 20;  // huge: each mprotect() visits all pages in use
constexpr std::uint64_t max_filled = 64u << 20;

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// With unused space after it.
std::uint64_t whole(std::uint64_t bytes) {
  return round_up(bytes, grain) + grain;
}

// Drops the pages that lie completely in this range.
void drop_pages(std::byte* memory, std::uint64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), first = round_up(begin, page),
             last = (begin + bytes) / page * page;
  if (first < last) madvise(memory + (first - begin), last - first, MADV_DONTNEED);
}

void protect(std::byte* memory, int rights) {
  if (mprotect(memory, space, rights) == 0) return;
  std::perror("simulated GPU: mprotect");
  std::abort();
}

}  // namespace

Arena::Arena() {
  void* found =
      mmap(nullptr, space + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) {
    std::perror("simulated GPU: mmap");
    std::abort();
  }
  const auto address = reinterpret_cast<std::uintptr_t>(found);
  begin_ = static_cast<std::byte*>(found) + (round_up(address, page) - address);
  madvise(begin_, space, MADV_HUGEPAGE);  // best effort
  free_[0] = space;
}

std::byte* Arena::take(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto size = whole(bytes);
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& range) { return range.second >= size; });
  if (found == free_.end()) return nullptr;
  const auto [offset, room] = *found;
  free_.erase(found);
  if (room > size) free_[offset + size] = room - size;
  std::byte* memory = begin_ + offset;
  allow(memory, bytes);
  forbid(memory + bytes, size - bytes);
  return memory;
}

void Arena::give(std::byte* memory, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto offset = static_cast<std::uint64_t>(memory - begin_), size = whole(bytes);
  drop_pages(memory, size);
  const auto after = free_.find(offset + size);
  if (after != free_.end()) {
    size += after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_[offset] = size;
}

void Arena::open() {
  const std::lock_guard lock(mutex_);
  if (users_++ == 0) protect(begin_, PROT_READ | PROT_WRITE);
}

void Arena::shut() {
  const std::lock_guard lock(mutex_);
  if (--users_ == 0) protect(begin_, PROT_NONE);
}

Arena& arena_of(int device) {
  static auto* const arenas = new Arena[max_devices];
  return arenas[device];
}

void fill_undefined(std::byte* memory, std::uint64_t bytes) {
  std::memset(memory, 255, std::min(bytes, max_filled));
}

#if defined(__SANITIZE_ADDRESS__)
void forbid(std::byte* memory, std::uint64_t bytes) {
  __asan_poison_memory_region(memory, std::min(bytes, max_filled));
}
void allow(std::byte* memory, std::uint64_t bytes) {
  __asan_unpoison_memory_region(memory, bytes);
}
void abandon(std::byte* memory, std::uint64_t bytes) {
  drop_pages(memory, bytes);
  forbid(memory, bytes);
}
#else
void abandon(std::byte* memory, std::uint64_t bytes) {
  fill_undefined(memory, bytes);
}
void forbid(std::byte*, std::uint64_t) {}
void allow(std::byte*, std::uint64_t) {}
#endif

}  // namespace simulated
