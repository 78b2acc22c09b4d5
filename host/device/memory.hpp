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

/// One block for all values of a plan, which knows the offset of each: allocated once, then used by every run.
class Arena {
 public:
  explicit Arena(std::uint64_t bytes) : memory_(allocate(bytes)), size_(bytes) {}
  std::byte* at(std::uint64_t offset) const { return memory_.get() + offset; }  ///< offset: at most size()
  std::uint64_t size() const { return size_; }

 private:
  Memory memory_;
  std::uint64_t size_;
};

}  // namespace tenon
