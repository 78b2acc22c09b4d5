// The subset of NCCL that this plugin uses. Its functions and constants have not changed since 2.7,
// so no headers are needed. The library is opened on first use.
#pragma once
#include <cstddef>

// NOLINTBEGIN(readability-identifier-naming): NCCL's names
using ncclComm_t = struct ncclComm*;

/// Identifies a communicator; created by one of its processes.
struct ncclUniqueId {
  char internal[128];
};
// NOLINTEND(readability-identifier-naming)

namespace nccl {
inline constexpr int success = 0, in_progress = 7;
enum class Type : int { i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16 };
enum class Reduction : int { sum, product, max, min };
}  // namespace nccl

/// Functions are named as in NCCL, without the prefix nccl. `stream` is a cudaStream_t.
struct NcclLibrary {
  int (*GetUniqueId)(ncclUniqueId* id);
  int (*CommInitRank)(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
  int (*CommGetAsyncError)(ncclComm_t comm, int* error);
  int (*GroupStart)();
  int (*GroupEnd)();
  int (*Send)(const void* from, std::size_t count, int type, int peer, ncclComm_t comm,
              void* stream);
  int (*Recv)(void* into, std::size_t count, int type, int peer, ncclComm_t comm, void* stream);
  int (*AllReduce)(const void* from, void* into, std::size_t count, int type, int reduction,
                   ncclComm_t comm, void* stream);
  const char* (*GetErrorString)(int result);

  /// Returns null if the dynamic linker finds no libnccl.so.2, or if it lacks a function. Never
  /// closed. Thread-safe.
  static const NcclLibrary* find();
};
