// The CPU's memory for tensors and plans.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tenon {

/// Every block begins at a multiple of this: a cache line, and a whole vector of any CPU.
inline constexpr std::uint64_t memory_alignment = 64;

/// The next multiple of memory_alignment. `bytes` is at most 2^63.
constexpr std::uint64_t align_up(std::uint64_t bytes) {
  return (bytes + memory_alignment - 1) / memory_alignment * memory_alignment;
}

/// Some large blocks are kept for the next allocations, as the kernel would fill each of their pages with zeros again; it may take these
/// pages whenever it needs memory. Threads: any.
struct FreeMemory {
  void operator()(std::byte* memory) const;
};
using Memory = std::unique_ptr<std::byte[], FreeMemory>;

/// Frees the blocks that are kept.
void free_kept_blocks();

/// A block of undefined content, never null, aligned. Large ones ask the system for huge pages. Throws Failure (failed) that says how much
/// was asked for.
Memory allocate(std::uint64_t bytes);

/// Memory in pages of its own, if it is large, which the system gets back: what is replaced by larger memory would leave holes in the
/// heap, between what was allocated meanwhile.
class Pages {
 public:
  /// `what` needs it, for the Failure (failed) if there is not enough.
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
