// How a CUDA kernel of a plugin puts work on the device: one body for each of many indices, or one block of threads for each.
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

/// Most bytes that a launch can carry.
inline constexpr std::size_t launch_bytes = 4000;

/// Throws Error with CUDA's name and meaning of what went wrong.
[[gnu::cold]] inline void require(cudaError_t code) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // where CUDA keeps it, the next launch would find it and take it for its own
  throw Error(std::string("CUDA: ") + cudaGetErrorName(code) + ", " + cudaGetErrorString(code));
}

inline cudaStream_t stream_of(const Call& call) {
  return static_cast<cudaStream_t>(call.stream());
}

namespace detail {

// Enough to fill any device; each takes several indices where there are more.
inline unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(count, 1, 1 << 14));
}

#if defined(__CUDACC__)
template <class Body>
__global__ void run_each(const __grid_constant__ Body body, std::int64_t count) {
  for (std::int64_t i = blockIdx.x * std::int64_t{block_threads} + threadIdx.x; i < count; i += gridDim.x * std::int64_t{block_threads})
    body(i);
}

template <class Body>
__global__ void __launch_bounds__(block_threads) run_each_block(const __grid_constant__ Body body, std::int64_t count) {
  const Block block;
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    body(block, i);
    block.sync();  // what the threads share is used again
  }
}
#endif

template <class Body>
constexpr void require_launchable() {
  static_assert(std::is_trivially_copyable_v<Body>, "a body must be trivially copyable to go to the device with its launch");
  static_assert(sizeof(Body) <= launch_bytes, "a body must fit a launch: 4000 bytes at most");
}

}  // namespace detail

/// body(i) for each i in [0, count), in no order, on the call's stream; returns at once. Body is a trivially copyable class with
/// `TENON_FN void operator()(std::int64_t i) const`; what it points to must be memory of the device. Throws Error where the launch is
/// refused.
template <class Body>
void for_each(const Call& call, std::int64_t count, const Body& body) {
  detail::require_launchable<Body>();
  if (count <= 0) return;
#if defined(__CUDACC__)
  detail::run_each<<<detail::blocks_for((count + block_threads - 1) / block_threads), block_threads, 0, stream_of(call)>>>(body, count);
#else
  simulate_each(stream_of(call), count, body);
#endif
  require(cudaGetLastError());
}

/// body(block, i) for each i in [0, count): the block_threads threads of one block work on one i together. Body is a trivially copyable
/// class with `TENON_DEVICE void operator()(const gpu::Block& block, std::int64_t i) const`, in which all threads meet every sync, sum and
/// max of the block.
template <class Body>
void for_each_block(const Call& call, std::int64_t count, const Body& body) {
  detail::require_launchable<Body>();
  if (count <= 0) return;
#if defined(__CUDACC__)
  detail::run_each_block<<<detail::blocks_for(count), block_threads, 0, stream_of(call)>>>(body, count);
#else
  simulate_each_block<Block>(stream_of(call), count, body);
#endif
  require(cudaGetLastError());
}

/// bytes of the device become zero, on the call's stream.
inline void clear(const Call& call, void* memory, std::size_t bytes) {
  if (bytes > 0) require(cudaMemsetAsync(memory, 0, bytes, stream_of(call)));
}

/// Copies within the device, on the call's stream; the places do not overlap.
inline void copy(const Call& call, void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(call)));
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop
