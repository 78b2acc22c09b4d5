// What this plugin uses of NCCL, whose functions and numbers have been the same since 2.7: no headers are needed, and the library is opened
// when it is first looked for.
#pragma once
#include <cstddef>

// NOLINTBEGIN(readability-identifier-naming): NCCL's names
using ncclComm_t = struct ncclComm*;

/// Of processes that meet; made by one of them.
struct ncclUniqueId {
  char internal[128];
};
// NOLINTEND(readability-identifier-naming)

namespace nccl {
inline constexpr int success = 0, in_progress = 7;
enum class Type : int { i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16 };
enum class Reduction : int { sum, product, max, min };
}  // namespace nccl

/// Functions have their names without nccl. `stream`: a cudaStream_t.
struct NcclLibrary {
  int (*GetUniqueId)(ncclUniqueId* id);
  int (*CommInitRank)(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
  int (*CommGetAsyncError)(ncclComm_t comm, int* error);
  int (*GroupStart)();
  int (*GroupEnd)();
  int (*Send)(const void* from, std::size_t count, int type, int peer, ncclComm_t comm, void* stream);
  int (*Recv)(void* into, std::size_t count, int type, int peer, ncclComm_t comm, void* stream);
  int (*AllReduce)(const void* from, void* into, std::size_t count, int type, int reduction, ncclComm_t comm, void* stream);
  const char* (*GetErrorString)(int result);

  /// Null where the system's linker finds no libnccl.so.2, or one that lacks a function. Never closed. Threads: any.
  static const NcclLibrary* find();
};
