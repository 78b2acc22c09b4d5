// What the threads of one block do together.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../version.hpp"
#include "runtime.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

inline constexpr int block_threads = 256;

/// The threads of a block, in a body of for_each_block(). Every function here must be reached by all of them, in the same order.
class Block {
 public:
#if defined(__CUDACC__)
  TENON_DEVICE int thread() const {
    return static_cast<int>(threadIdx.x);
  }  ///< 0 to block_threads - 1
  TENON_DEVICE void sync() const {
    __syncthreads();
  }  ///< what was written before is seen by all after it
#else
  int thread() const {
    return simulated_thread();
  }
  void sync() const {
    simulated_sync();
  }
#endif

  /// combine(a, b) over every thread's value, in an order that is always the same; every thread gets the result. T: at most 16 bytes,
  /// trivially copyable.
  template <class T, class Combine>
  TENON_DEVICE T reduce(T value, Combine combine) const {
    T* const shared = slots<T>();
    shared[thread()] = value;
    for (int half = block_threads / 2; half > 0; half /= 2) {
      sync();
      if (thread() < half) shared[thread()] = combine(shared[thread()], shared[thread() + half]);
    }
    sync();
    const T result = shared[0];
    sync();  // the slots are used again
    return result;
  }
  template <class T>
  TENON_DEVICE T sum(T value) const {
    return reduce(value, Sum{});
  }
  template <class T>
  TENON_DEVICE T max(T value) const {
    return reduce(value, Max{});
  }

  /// The sum of the values of all threads before this one, and of all together in `total`.
  template <class T>
  TENON_DEVICE T sum_before(T value, T& total) const {
    T* const shared = slots<T>();
    shared[thread()] = value;
    sync();
    for (int step = 1; step < block_threads; step *= 2) {
      const T before = thread() >= step ? shared[thread() - step] : T(0);
      sync();
      shared[thread()] = shared[thread()] + before;
      sync();
    }
    total = shared[block_threads - 1];
    const T before = thread() > 0 ? shared[thread() - 1] : T(0);
    sync();
    return before;
  }

 private:
  struct Sum {
    template <class T>
    TENON_DEVICE T operator()(T left, T right) const {
      return left + right;
    }
  };
  struct Max {
    template <class T>
    TENON_DEVICE T operator()(T left, T right) const {
      return left < right ? right : left;
    }
  };

  template <class T>
  TENON_DEVICE static T* slots() {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
#if defined(__CUDACC__)
    __shared__ __align__(16) unsigned char memory[16 * block_threads];
#else
    alignas(16) static thread_local unsigned char memory[16 * block_threads];  // a block runs on one thread of the CPU
#endif
    return reinterpret_cast<T*>(memory);
  }
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
