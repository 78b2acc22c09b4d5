// Scratch memory for as many elements as a sparse tensor happens to store.
#pragma once
#include <cstddef>
#include <type_traits>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Memory of the device for `count` T, from CUDA's pool, its content undefined. Work enqueued on the call's stream before this object ends
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
    if (count > 0) require(cudaMallocAsync(&memory_, static_cast<std::size_t>(count) * sizeof(T), stream_));
  }
  ~Scratch() {
    if (memory_) static_cast<void>(cudaFreeAsync(memory_, stream_));  // a lost device is told by the next call that may fail
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Dereference it on the device only; null for a count of 0 or less.
  T* data() const { return static_cast<T*>(memory_); }

 private:
  cudaStream_t stream_;
  void* memory_ = nullptr;
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
