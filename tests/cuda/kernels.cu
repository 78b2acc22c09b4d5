#include <tenon/gpu/launch.hpp>

#include "kernels.hpp"
#if !defined(__CUDACC__)
#include <cuda_simulated.h>
#endif

namespace {

struct AddOne {
  std::uint32_t* data;
  TENON_FN void operator()(std::int64_t i) const { data[i] += 1; }
};

#if defined(__CUDACC__)
__global__ void wild_write() {
  *reinterpret_cast<volatile int*>(std::uintptr_t{64}) = 1;
}
#endif

}  // namespace

void launch_add_one(std::uint32_t* data, std::int64_t n, void* stream) {
  tenon_call raw{};
  raw.stream = stream;
  tenon::gpu::for_each(tenon::Call(raw, {}), n, AddOne{data});
}

void launch_wild_write(void* stream) {
#if defined(__CUDACC__)
  wild_write<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>();
#else
  const auto lose = [](void*) { simulated_lose_device(cudaErrorIllegalAddress, "an illegal memory access was encountered"); };
  cudaLaunchHostFunc(static_cast<cudaStream_t>(stream), lose, nullptr);
#endif
}
