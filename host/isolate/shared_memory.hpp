// Tensor memory that workers use in place, without a copy.
#pragma once
#include <cstdint>
#include <memory>

#include "isolate/shared_block.hpp"

namespace tenon::shared_memory {

/// Smaller tensors are cheaper to copy than to look up.
inline constexpr std::uint64_t min_shared_bytes = 64 << 10;

/// Creates a block that find() can find during its lifetime. Throws Failure.
std::shared_ptr<SharedBlock> make(std::uint64_t bytes, SharedBlock::Access access,
                                  const char* what);
/// Returns the block that contains all these bytes, or null. Thread-safe; the result lives as long
/// as the memory.
const SharedBlock* find(const void* data, std::uint64_t bytes);
/// Returns whether a block with that id exists.
bool exists(std::uint64_t id);

}  // namespace tenon::shared_memory
