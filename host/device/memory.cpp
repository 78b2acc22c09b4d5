#include "device/memory.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <limits>
#include <mutex>
#include <tenon/host/failure.hpp>

#include "device/device.hpp"
#include "device/devices.hpp"
#include "io/counted.hpp"

namespace tenon {

namespace {

constexpr std::uint64_t huge_page = 2u << 20;
/// From a few huge pages on, fewer page faults and TLB misses outweigh the waste in the last page.
constexpr std::uint64_t large = 4 * huge_page;

#if defined(__SANITIZE_ADDRESS__)
// so that AddressSanitizer detects use after free
constexpr std::uint64_t max_cached = 0;
constexpr std::uint64_t min_mapped = std::numeric_limits<std::uint64_t>::max();  // and leaks
#else
constexpr std::uint64_t max_cached = 128u << 20;
constexpr std::uint64_t min_mapped = 128u << 10;  // smaller holes in the heap are soon reused
#endif

std::byte* allocate_new(std::uint64_t whole, std::uint64_t alignment) {
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, whole) == 0 ? static_cast<std::byte*>(memory)
                                                          : nullptr;
}

/// Cache of freed large blocks. If the lock is taken, callers do without the cache: it may have
/// been taken by another thread before a fork.
class FreeBlocks {
 public:
  static FreeBlocks& instance() {
    static auto& blocks = *new FreeBlocks;  // never destroyed: blocks may be freed at exit
    return blocks;
  }

  /// Returns a cached block of at least `bytes` and at most an eighth more, or null if there is
  /// none.
  std::byte* take(std::uint64_t bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return nullptr;
    const auto fits = [&](const Block& block) {
      return block.bytes >= bytes && block.bytes - bytes <= bytes / 8;
    };
    const auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
    if (found == blocks_.end()) return nullptr;
    std::byte* const memory = found->memory;
    total_ -= found->bytes;
    blocks_.erase(found);
    return memory;
  }

  /// Returns whether the block was cached. Evicts the oldest blocks to make room.
  bool cache(std::byte* memory, std::uint64_t bytes) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || bytes > max_cached ||
        ::madvise(memory, bytes / huge_page * huge_page, MADV_FREE) != 0)
      return false;
    blocks_.push_back({memory, bytes});
    total_ += bytes;
    while (total_ > max_cached) free_first();
    return true;
  }

  void free_all() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    while (lock && !blocks_.empty()) free_first();
  }

 private:
  struct Block {
    std::byte* memory;
    std::uint64_t bytes;
  };

  void free_first() {
    std::free(blocks_.front().memory);
    total_ -= blocks_.front().bytes;
    blocks_.pop_front();
  }

  std::mutex mutex_;
  std::deque<Block> blocks_;
  std::uint64_t total_ = 0;
};

}  // namespace

void FreeMemory::operator()(std::byte* memory) const {
  const std::uint64_t bytes = ::malloc_usable_size(memory);
  if (bytes < large || !FreeBlocks::instance().cache(memory, bytes)) std::free(memory);
}

void free_cached_blocks() {
  FreeBlocks::instance().free_all();
}

Memory allocate(std::uint64_t bytes) {
  std::byte* memory = nullptr;
  if (bytes <= std::numeric_limits<std::uint64_t>::max() / 2) {
    const std::uint64_t whole = bytes == 0 ? memory_alignment : align_up(bytes);
    if (whole < large) {
      memory = allocate_new(whole, memory_alignment);
    } else if ((memory = FreeBlocks::instance().take(whole)) == nullptr) {
      memory = allocate_new(whole, huge_page);
      if (memory != nullptr) ::madvise(memory, whole, MADV_HUGEPAGE);  // best effort
    }
    if (memory == nullptr) {
      free_cached_blocks();
      memory = allocate_new(whole, memory_alignment);
    }
  }
  if (memory == nullptr)
    throw Failure(FailureKind::failed,
                  "cannot allocate " + readable_bytes(bytes) + ": out of memory");
  return Memory(memory);
}

namespace {

std::byte* map_pages(std::uint64_t bytes) {
  if (bytes < min_mapped) return allocate_new(bytes, memory_alignment);
  auto* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (bytes >= large) ::madvise(memory, bytes, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

}  // namespace

Pages::Pages(std::uint64_t bytes, const char* what)
    : memory_(nullptr, Unmap{std::max(bytes, memory_alignment)}) {
  const bool countable = bytes <= std::numeric_limits<std::uint64_t>::max() / 2;
  auto* memory = countable ? map_pages(this->bytes()) : nullptr;
  if (memory == nullptr && countable) {
    free_cached_blocks();
    memory = map_pages(this->bytes());
  }
  if (memory == nullptr)
    throw out_of_memory(cpu_device().name(), what, bytes, cpu_device().memory());
  memory_.reset(memory);
}

void Pages::Unmap::operator()(std::byte* memory) const {
  if (bytes < min_mapped)
    std::free(memory);
  else
    ::munmap(memory, bytes);
}

Failure out_of_memory(const std::string& device, const std::string& what, std::uint64_t bytes,
                      const DeviceMemory& memory) {
  return {FailureKind::failed,
          device + " is out of memory: " + what + " needs " + readable_bytes(bytes) + ", and " +
              readable_bytes(memory.free) + " of " + readable_bytes(memory.total) + " are free",
          "use a smaller batch; the plan reports the memory it needs"};
}

}  // namespace tenon
