// Scratch memory for CUDA libraries, from the workspace of the call.
//
//     std::size_t workspace(const tenon::Infer&) const {
//       return tenon::gpu::library_workspace_bytes(8 << 20);
//     }
//     ...
//     // in forward: the same size
//     void* const scratch = tenon::gpu::library_workspace(call, 8 << 20);
#pragma once
#include <cstddef>
#include <cstdint>

#include "../call.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// In bytes: cuBLAS requires this alignment of its workspace, and call.workspace guarantees 64.
inline constexpr std::size_t library_alignment = 256;

/// Returns the value of workspace() for a library that uses `bytes`: includes room for the
/// alignment; 0 for 0.
constexpr std::size_t library_workspace_bytes(std::size_t bytes) {
  return bytes > 0 ? bytes + library_alignment : 0;
}

/// Returns that memory, aligned; null for 0. Throws Error (memory) if the operator's workspace()
/// returned less.
inline void* library_workspace(const Call& call, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const auto begin =
      reinterpret_cast<std::uintptr_t>(call.workspace<std::byte>(library_workspace_bytes(bytes)));
  return reinterpret_cast<void*>((begin + library_alignment - 1) / library_alignment *
                                 library_alignment);
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
