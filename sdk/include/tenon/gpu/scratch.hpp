// Scratch memory whose size depends on the number of stored elements of a sparse tensor.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../detail/host_error.hpp"
#include "../detail/host_function.hpp"
#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Device memory for `count` T, uninitialized, aligned to at least 64 bytes. Work that is enqueued
/// on the call's stream while this object lives may use it; the object need not outlive that work,
/// but must be destroyed before the call returns.
///
/// Only for sizes that depend on the number of stored elements, which workspace() does not know:
/// use it in forward_sparse and backward_sparse, which Tenon never captures, and not in a captured
/// kernel. The memory comes from the host, which caches freed memory, so it costs little after the
/// first run; with a host before 0.2 it comes from CUDA's pool, which returns all memory to the
/// device at each synchronization. Use it on the kernel's own thread.
///
/// Example:
///
///     const tenon::gpu::Scratch<std::int64_t> sums(call, x.nnz + 1);
///     tenon::gpu::clear(call, sums.data(),
///                       static_cast<std::size_t>(x.nnz + 1) * sizeof(std::int64_t));
template <class T>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Throws Error (memory) if the device has too little memory even after the host has freed its
  /// cached memory.
  Scratch(const Call& call, std::int64_t count)
      : call_(call.raw()),
        free_(tenon::detail::host_function<tenon_free_scratch>(call_, "free_scratch/1")) {
    if (count <= 0) return;
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    const auto allocate =
        tenon::detail::host_function<tenon_allocate_scratch>(call_, "allocate_scratch/1");
    HostError error;
    if (!allocate || !free_)
      require(cudaMallocAsync(&memory_, bytes, stream()));
    else if (allocate(&call_, bytes, &memory_, error.raw()))
      error.raise();
  }
  ~Scratch() {
    if (!memory_) return;
    if (free_)
      free_(&call_, memory_);
    else
      static_cast<void>(
          cudaFreeAsync(memory_, stream()));  // the next call that can fail reports a lost device
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Device pointer; null for a count of 0 or less.
  T* data() const { return static_cast<T*>(memory_); }

 private:
  cudaStream_t stream() const { return static_cast<cudaStream_t>(call_.stream); }

  const tenon_call& call_;
  tenon_free_scratch free_;  // null with a host before 0.2
  void* memory_ = nullptr;
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
