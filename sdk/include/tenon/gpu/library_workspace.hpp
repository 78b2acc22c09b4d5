// Scratch for CUDA's libraries.
#pragma once
#include <cstddef>
#include <cstdint>

#include "../call.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// cuBLAS refuses a workspace that begins anywhere else; the host promises less.
inline constexpr std::size_t library_alignment = 256;

/// What workspace() says for `bytes` that a library can use.
constexpr std::size_t library_workspace_bytes(std::size_t bytes) {
  return bytes > 0 ? bytes + library_alignment : 0;
}

/// Those `bytes`; null where there are none.
inline void* library_workspace(const Call& call, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(call.workspace<std::byte>(library_workspace_bytes(bytes)));
  return reinterpret_cast<void*>((begin + library_alignment - 1) / library_alignment * library_alignment);
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
