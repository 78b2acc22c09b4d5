// A simulated GPU for the simulation's tests: a stream, memory, and launches of bodies.
#pragma once
#include <cuda_simulated.h>

#include <cstdint>
#include <cstring>
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/launch.hpp>
#include <vector>

#include "in_child.hpp"

/// Throws tenon::Error if a call of the CUDA runtime fails.
class Gpu {
 public:
  explicit Gpu(int device = 0) {
    tenon::gpu::require(cudaSetDevice(device));
    tenon::gpu::require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device};
    tenon::gpu::require(cudaMemPoolCreate(&pool, &properties));
    raw_.stream = stream;
  }

  template <class T>
  T* memory(std::size_t count) const {
    void* found = nullptr;
    tenon::gpu::require(cudaMallocFromPoolAsync(&found, count * sizeof(T), pool, stream));
    return static_cast<T*>(found);
  }
  template <class T>
  std::vector<T> read(const T* from, std::size_t count) const {
    void* pinned = nullptr;
    tenon::gpu::require(cudaHostAlloc(&pinned, count * sizeof(T), cudaHostAllocPortable));
    tenon::gpu::require(
        cudaMemcpyAsync(pinned, from, count * sizeof(T), cudaMemcpyDeviceToHost, stream));
    tenon::gpu::require(cudaStreamSynchronize(stream));
    std::vector<T> values(count);
    std::memcpy(values.data(), pinned, count * sizeof(T));
    tenon::gpu::require(cudaFreeHost(pinned));
    return values;
  }
  tenon::Call call() const { return {raw_, names_}; }

  cudaStream_t stream = nullptr;
  cudaMemPool_t pool = nullptr;

 private:
  tenon_call raw_{};
  tenon::detail::Names names_{};
};
