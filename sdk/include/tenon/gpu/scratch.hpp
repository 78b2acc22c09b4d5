// Scratch memory for as many elements as a sparse tensor happens to store.
#pragma once
#include <cstddef>
#include <type_traits>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Memory of the device for `count` T, from CUDA's pool, its content undefined; where the driver has no pools (some virtual GPUs), from the
/// device itself, which waits for all its work. Work enqueued on the call's stream before this object ends
/// may use it; the object need not outlive that work. Only for sizes that follow the number of stored elements, which workspace() does not
/// know: use it in forward_sparse and backward_sparse, which Tenon never captures, and not in a kernel that is captured.
///
/// Example:
///
///     const tenon::gpu::Scratch<std::int64_t> sums(call, x.nnz + 1);
///     tenon::gpu::clear(call, sums.data(), static_cast<std::size_t>(x.nnz + 1) * sizeof(std::int64_t));
template <class T>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Throws Error if the device has too little memory: "CUDA: cudaErrorMemoryAllocation, out of memory".
  Scratch(const Call& call, std::int64_t count) : stream_(stream_of(call)) {
    if (count <= 0) return;
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    const auto result = cudaMallocAsync(&memory_, bytes, stream_);
    pooled_ = result != cudaErrorNotSupported;
    if (!pooled_) static_cast<void>(cudaGetLastError());
    require(pooled_ ? result : cudaMalloc(&memory_, bytes));
  }
  ~Scratch() {
    if (memory_) static_cast<void>(pooled_ ? cudaFreeAsync(memory_, stream_) : cudaFree(memory_));  // the next call tells of a lost device
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Dereference it on the device only; null for a count of 0 or less.
  T* data() const { return static_cast<T*>(memory_); }

 private:
  cudaStream_t stream_;
  void* memory_ = nullptr;
  bool pooled_ = true;
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
