// CPU memory for tensors and plans.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tenon {

/// Alignment of every block: a cache line, and a full vector on any CPU.
inline constexpr std::uint64_t memory_alignment = 64;

/// Returns the next multiple of memory_alignment. `bytes` must be at most 2^63.
constexpr std::uint64_t align_up(std::uint64_t bytes) {
  return (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

/// Caches some large blocks for later allocations, because the kernel would have to zero their
/// pages again; under memory pressure the kernel may reclaim these pages. Thread-safe.
struct FreeMemory {
  void operator()(std::byte* memory) const;
};
using Memory = std::unique_ptr<std::byte[], FreeMemory>;

/// Frees the cached blocks.
void free_cached_blocks();

/// Allocates an aligned block with undefined contents, never null. Large blocks use huge pages if
/// possible. Throws Failure (failed) with the requested size.
Memory allocate(std::uint64_t bytes);

/// Memory that, if it is large, has its own pages and is returned to the system: replacing heap
/// blocks by larger ones would leave holes between blocks allocated meanwhile.
class Pages {
 public:
  /// `what` names the consumer in the Failure (failed) if memory runs out.
  Pages(std::uint64_t bytes, const char* what);
  std::byte* data() const { return memory_.get(); }
  std::uint64_t bytes() const { return memory_.get_deleter().bytes; }

 private:
  struct Unmap {
    std::uint64_t bytes;
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Unmap> memory_;
};

}  // namespace tenon
