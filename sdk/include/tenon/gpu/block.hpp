// Cooperation of the threads of one block: barriers, reductions and prefix sums in shared memory.
// For bodies of for_each_block() (launch.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../version.hpp"
#include "runtime.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Threads per block. Blocks are one-dimensional.
inline constexpr int block_threads = 256;

/// The threads of a block, in a body of for_each_block(). All threads must reach every call of
/// sync(), reduce(), sum(), max(), exclusive_sum(), in the same order: never call them in a branch
/// or after a `return` that only some threads take. A thread without an element passes the neutral
/// value, such as 0 to sum().
///
/// Example: the sums of the rows of a matrix [rows, columns], one block per row.
///
///     struct RowSum {
///       const float* x;
///       float* sums;
///       std::int64_t columns;
///
///       TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t row) const {
///         float sum = 0;
///         for (std::int64_t j = block.thread(); j < columns; j += tenon::gpu::block_threads)
///           sum += x[row * columns + j];
///         sum = block.sum(sum);
///         if (block.thread() == 0) sums[row] = sum;
///       }
///     };
///     tenon::gpu::for_each_block(call, rows, RowSum{x, sums, columns});
///
/// T in the functions below must be trivially copyable, with at most 16 bytes. Each T that a body
/// uses takes 4 KiB of the block's shared memory.
class Block {
 public:
#if defined(__CUDACC__)
  TENON_DEVICE int thread() const {
    return static_cast<int>(threadIdx.x);
  }  ///< 0 to block_threads - 1
  TENON_DEVICE void sync() const {
    __syncthreads();
  }  ///< after it, all threads see what any thread wrote before it
#else
  int thread() const {
    return simulated_thread();
  }
  void sync() const {
    simulated_sync();
  }
#endif

  /// combine(a, b) over every thread's value; every thread gets the result. combine should be
  /// associative and commutative, such as a minimum, and must not reach a sync(). The order is
  /// fixed, so rounded sums have the same bits in every run: a tree over the thread numbers, in
  /// which thread t is combined with t + 128, then with t + 64, and so on to t + 1. It takes three
  /// barriers: one warp does most of the work and also combines a few values that are not part of
  /// the tree, without effect on the result.
  ///
  /// Example:
  ///
  ///     const float least = block.reduce(value, [](float a, float b) { return a < b ? a : b; });
  template <class T, class Combine>
  TENON_DEVICE T reduce(T value, Combine combine) const {
    T* const shared = slots<T>();
    shared[thread()] = value;
#if defined(__CUDACC__)
    sync();
    // a single warp needs no barrier
    if (thread() < warp) {
      value = of_warps<0, 1>(shared + thread(), combine);
      for (int half = warp / 2; half > 0; half /= 2)
        value = combine(value, from_lane_above(value, half));
      if (thread() == 0) shared[0] = value;
    }
#else
    for (int half = block_threads / 2; half > 0; half /= 2) {
      sync();
      if (thread() < half) shared[thread()] = combine(shared[thread()], shared[thread() + half]);
    }
#endif
    sync();
    const T result = shared[0];
    sync();  // the slots are reused
    return result;
  }
  /// The sum of all threads' values, in T: convert half and bfloat16 to float first, or sums round
  /// to 16 bits.
  template <class T>
  TENON_DEVICE T sum(T value) const {
    return reduce(value, Sum{});
  }
  /// The maximum of all threads' values. A NaN may get lost, because `NaN < x` is false; use
  /// reduce() to propagate NaN.
  template <class T>
  TENON_DEVICE T max(T value) const {
    return reduce(value, Max{});
  }

  /// The sum of the values of all threads with lower numbers, 0 for thread 0; sets `total` to the
  /// sum of all threads' values in each thread. Use it to compute each thread's position in an
  /// output to which every thread writes some elements:
  ///
  ///     std::int64_t total = 0;
  ///     // keep: whether this thread has an element to write
  ///     std::int64_t to = start + block.exclusive_sum(std::int64_t{keep}, total);
  template <class T>
  TENON_DEVICE T exclusive_sum(T value, T& total) const {
    T* const shared = slots<T>();
    shared[thread()] = value;
    sync();
    for (int step = 1; step < block_threads; step *= 2) {
      const T previous = thread() >= step ? shared[thread() - step] : T(0);
      sync();
      shared[thread()] = shared[thread()] + previous;
      sync();
    }
    total = shared[block_threads - 1];
    const T previous = thread() > 0 ? shared[thread() - 1] : T(0);
    sync();
    return previous;
  }
  /// The former name of exclusive_sum().
  template <class T>
  [[deprecated("use exclusive_sum; until 0.4")]] TENON_DEVICE T sum_before(T value,
                                                                           T& total) const {
    return exclusive_sum(value, total);
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

#if defined(__CUDACC__)
  static constexpr int warp = 32;

  // Combines every step-th value of a lane, one per warp, beginning with that of warp `first`, as
  // the upper levels of the tree do.
  template <int first, int step, class T, class Combine>
  TENON_DEVICE static T of_warps(const T* of_lane, Combine& combine) {
    if constexpr (step == block_threads / warp)
      return of_lane[first * warp];
    else
      return combine(of_warps<first, 2 * step>(of_lane, combine),
                     of_warps<first + step, 2 * step>(of_lane, combine));
  }

  // Returns the value of the thread that is `distance` above. For the last threads of a warp it is
  // arbitrary and not used.
  template <class T>
  TENON_DEVICE static T from_lane_above(const T& value, int distance) {
    unsigned words[(sizeof(T) + 3) / 4] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned& word : words)
      word = __shfl_down_sync(0xffffffff, word, static_cast<unsigned>(distance));
    T above = value;
    __builtin_memcpy(static_cast<void*>(&above), words, sizeof(T));
    return above;
  }
#endif

  // One value per thread, in shared memory: every function ends with a sync(), so that the next one
  // may use the slots.
  template <class T>
  TENON_DEVICE static T* slots() {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 16);
#if defined(__CUDACC__)
    __shared__ __align__(16) unsigned char memory[16 * block_threads];
#else
    alignas(16) static thread_local unsigned char
        memory[16 * block_threads];  // a block runs on one thread of the CPU
#endif
    return reinterpret_cast<T*>(memory);
  }
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
