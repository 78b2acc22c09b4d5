// Tensors' memory that workers use as it is, without a copy.
#pragma once
#include <cstdint>
#include <memory>

#include "isolate/shared_block.hpp"

namespace tenon::shared_memory {

/// Smaller tensors cost less to copy than to find.
inline constexpr std::uint64_t worth_sharing = 64 << 10;

/// Found by find() as long as it lives. Throws Failure.
std::shared_ptr<SharedBlock> make(std::uint64_t bytes, SharedBlock::Access access, const char* what);
/// The block in which all these bytes lie; null if there is none. Threads: any; what it gives lives as long as the memory.
const SharedBlock* find(const void* data, std::uint64_t bytes);
/// Whether a block of that id lives.
bool lives(std::uint64_t id);

}  // namespace tenon::shared_memory
