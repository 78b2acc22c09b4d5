// Launching work on the device from a plugin's CUDA kernel: one body call per index, by one thread
// or by one block of threads.
//
// All functions here enqueue on the call's stream and return immediately, so work runs in the order
// of the calls. They throw Error ("CUDA: " and CUDA's name and description) if CUDA rejects the
// work. Failures on the device are reported later, by the host. Call them on the kernel's own
// thread. A kernel that calls nothing else may declare `static constexpr bool capturable = true;`.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "../call.hpp"
#include "../error.hpp"
#include "../version.hpp"
#include "block.hpp"
#include "runtime.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Maximum size of a body in bytes: a body is passed as the kernel's argument. A larger table must
/// be an input or a state, or be computed on the device.
inline constexpr std::size_t launch_bytes = 4000;

/// Throws Error with CUDA's name and description of a code other than cudaSuccess, such as "CUDA:
/// cudaErrorInvalidValue, invalid argument". For direct calls of the CUDA API.
///
/// Example:
///
///     tenon::gpu::require(cudaMemsetAsync(memory, 0xff, bytes, tenon::gpu::stream_of(call)));
[[gnu::cold]] inline void require(cudaError_t code) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clears CUDA's last error, which the next launch would
                                          // report as its own
  throw Error(std::string("CUDA: ") + cudaGetErrorName(code) + ", " + cudaGetErrorString(code));
}

/// The stream of this call, for the CUDA API and libraries. Neither destroy it nor wait for it: see
/// wait_for() in number.hpp.
inline cudaStream_t stream_of(const Call& call) {
  return static_cast<cudaStream_t>(call.stream());
}

namespace detail {

// Enough to fill any device; with more work than that, each block processes several indices.
inline unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(count, 1, 1 << 14));
}

#if defined(__CUDACC__)
template <class Body>
__global__ void run_each(const __grid_constant__ Body body, std::int64_t count) {
  for (std::int64_t i = blockIdx.x * std::int64_t{block_threads} + threadIdx.x; i < count;
       i += gridDim.x * std::int64_t{block_threads})
    body(i);
}

template <class Body>
__global__ void __launch_bounds__(block_threads)
    run_each_block(const __grid_constant__ Body body, std::int64_t count) {
  const Block block;
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    body(block, i);
    block.sync();  // the shared memory is reused
  }
}
#endif

template <class Body>
constexpr void require_launchable() {
  static_assert(std::is_trivially_copyable_v<Body>,
                "a body must be trivially copyable to be passed to the device");
  static_assert(sizeof(Body) <= launch_bytes, "a body must fit into a launch: at most 4000 bytes");
}

}  // namespace detail

/// Calls body(i) for each i in [0, count), in any order and concurrently. Does nothing if
/// count <= 0. Body is a trivially copyable class of at most launch_bytes, with
/// `TENON_FN void operator()(std::int64_t i) const` (or TENON_DEVICE); others do not compile. The
/// body is copied and need not outlive the call. It may point only to device memory: tensors,
/// states and the workspace of this call.
///
/// Example:
///
///     struct Twice {
///       const float* x;
///       float* y;
///       TENON_FN void operator()(std::int64_t i) const { y[i] = 2 * x[i]; }
///     };
///     const auto x = call.input<float>(0);
///     tenon::gpu::for_each(call, x.size(), Twice{x.data(), call.output<float>(0).data()});
template <class Body>
void for_each(const Call& call, std::int64_t count, const Body& body) {
  detail::require_launchable<Body>();
  if (count <= 0) return;
#if defined(__CUDACC__)
  detail::run_each<<<detail::blocks_for((count + block_threads - 1) / block_threads), block_threads,
                     0, stream_of(call)>>>(body, count);
#else
  simulate_each(stream_of(call), count, body);
#endif
  require(cudaGetLastError());
}

/// Calls body(block, i) for each i in [0, count): the block_threads threads of one block process
/// one i together. The requirements on Body are those of for_each(), with
/// `TENON_DEVICE void operator()(const gpu::Block& block, std::int64_t i) const`. All threads of a
/// block must reach every sync, sum and max; block.hpp has an example. Threads without an element
/// of their i idle: for rows much shorter than 256, use for_each().
template <class Body>
void for_each_block(const Call& call, std::int64_t count, const Body& body) {
  detail::require_launchable<Body>();
  if (count <= 0) return;
#if defined(__CUDACC__)
  detail::run_each_block<<<detail::blocks_for(count), block_threads, 0, stream_of(call)>>>(body,
                                                                                           count);
#else
  simulate_each_block<Block>(stream_of(call), count, body);
#endif
  require(cudaGetLastError());
}

/// Sets `bytes` bytes of device memory to 0: the number 0 in every dtype. With 0 bytes, memory may
/// be null.
inline void clear(const Call& call, void* memory, std::size_t bytes) {
  if (bytes > 0) require(cudaMemsetAsync(memory, 0, bytes, stream_of(call)));
}

/// Copies `bytes` bytes within the device; the ranges must not overlap. With 0 bytes, both pointers
/// may be null.
inline void copy(const Call& call, void* to, const void* from, std::size_t bytes) {
  if (bytes > 0)
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(call)));
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
