// Launches kernel bodies on simulated streams; sdk/include/tenon/gpu/runtime.hpp includes this if
// the compiler is not nvcc.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cuda_runtime_api.h"

/// A launch: `bytes` bytes of a body, copied at the launch. Elements: run(body, count) is called
/// once. Blocks: run(body, i) is called for each i in [0, count) by each of 256 fibers.
struct SimulatedLaunch {
  const void* body;
  std::size_t bytes;
  std::int64_t count;
  void (*run)(const void* body, std::int64_t number);
  void (*clear_padding)(void* body);  // null if the compiler cannot
};
cudaError_t simulated_launch(cudaStream_t stream, const SimulatedLaunch& launch);
cudaError_t simulated_launch_blocks(cudaStream_t stream, const SimulatedLaunch& launch);
int simulated_thread_of_block();
void simulated_sync_of_block();

/// Clears the padding of a body. g++ 12 takes some members in arrays for padding, so this tells
/// members from padding, but is not used on the copy that runs.
#if __has_builtin(__builtin_clear_padding)
template <class Body>
[[gnu::no_sanitize_address, gnu::no_sanitize_undefined]] void simulated_clear_padding(void* body) {
  __builtin_clear_padding(static_cast<Body*>(body));
}
#else
template <class Body>
constexpr void (*simulated_clear_padding)(void*) = nullptr;
#endif

/// First the odd indices in descending order, then the even ones in ascending order: breaks bodies
/// that rely on an order. There are thousands of bodies, so each has as few functions as possible.
template <class Body>
void simulated_elements(const void* body, std::int64_t count) {
  const Body& copied = *static_cast<const Body*>(body);
  const std::int64_t odd = count / 2;
  for (std::int64_t i = 0; i < count; ++i) copied(i < odd ? 2 * (odd - i) - 1 : 2 * (i - odd));
}

template <class Body>
[[gnu::always_inline]] inline cudaError_t simulate_each(cudaStream_t stream, std::int64_t count,
                                                        const Body& body) {
  return simulated_launch(
      stream, {&body, sizeof body, count, simulated_elements<Body>, simulated_clear_padding<Body>});
}

/// Block is gpu::Block, which is declared later.
template <class Block, class Body>
void simulated_block(const void* body, std::int64_t i) {
  (*static_cast<const Body*>(body))(Block(), i);
}

template <class Block, class Body>
[[gnu::always_inline]] inline cudaError_t simulate_each_block(cudaStream_t stream,
                                                              std::int64_t count,
                                                              const Body& body) {
  return simulated_launch_blocks(stream, {&body, sizeof body, count, simulated_block<Block, Body>,
                                          simulated_clear_padding<Body>});
}

inline int simulated_thread() {
  return simulated_thread_of_block();
}
inline void simulated_sync() {
  simulated_sync_of_block();
}
