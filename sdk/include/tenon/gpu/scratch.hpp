// Scratch memory for as many elements as a sparse tensor happens to store.
#pragma once
#include <cstddef>
#include <type_traits>

#include "../version.hpp"
#include "launch.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// For `count` T, their content undefined, from the device's own pool and for what is put on the call's stream until this ends. workspace()
/// is told shapes alone: only what follows the number of stored elements belongs here, and such a kernel is not to be captured. Throws
/// Error.
template <class T>
class Scratch {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Scratch(const Call& call, std::int64_t count) : stream_(stream_of(call)) {
    if (count > 0) require(cudaMallocAsync(&memory_, static_cast<std::size_t>(count) * sizeof(T), stream_));
  }
  ~Scratch() {
    if (memory_) static_cast<void>(cudaFreeAsync(memory_, stream_));  // a lost device is told by the next call that may fail
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() const { return static_cast<T*>(memory_); }

 private:
  cudaStream_t stream_;
  void* memory_ = nullptr;
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
