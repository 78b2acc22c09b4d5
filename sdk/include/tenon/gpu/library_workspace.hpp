// Scratch memory for CUDA's libraries, from the workspace of the call.
//
//     std::size_t workspace(const tenon::Infer&) const { return tenon::gpu::library_workspace_bytes(8 << 20); }
//     ...
//     void* const scratch = tenon::gpu::library_workspace(call, 8 << 20);  // in forward: the same number of bytes
#pragma once
#include <cstddef>
#include <cstdint>

#include "../call.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Bytes: cuBLAS requires that its workspace begins at a multiple of this, and call.workspace promises 64.
inline constexpr std::size_t library_alignment = 256;

/// What workspace() returns for `bytes` that a library can use: room for the alignment, too; 0 for 0.
constexpr std::size_t library_workspace_bytes(std::size_t bytes) {
  return bytes > 0 ? bytes + library_alignment : 0;
}

/// Those bytes, aligned; null for 0. Throws Error (memory) if workspace() of the operator returned less.
inline void* library_workspace(const Call& call, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(call.workspace<std::byte>(library_workspace_bytes(bytes)));
  return reinterpret_cast<void*>((begin + library_alignment - 1) / library_alignment * library_alignment);
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
