// The managed tensor of DLPack 1.x, for DLPack 0.x headers, which lack it.
#pragma once
#include <dlpack/dlpack.h>

#include <cstdint>

#ifndef DLPACK_MAJOR_VERSION  // DLPack 1.0 and later declares the same
struct DLPackVersion {
  std::uint32_t major, minor;
};

/// With another major version, everything after `deleter` may differ.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};
#endif

namespace tenon {

constexpr std::uint32_t dlpack_major = 1;
constexpr std::uint64_t dlpack_read_only = 1, dlpack_is_copied = 2;  // flags
/// Elements of less than 8 bits take a byte each. Since DLPack 1.1.
constexpr std::uint64_t dlpack_padded = 4;

}  // namespace tenon
