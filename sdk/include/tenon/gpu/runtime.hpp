// The CUDA runtime, in sources compiled by nvcc, or by any compiler for the simulated GPUs of tests
// (TENON_SIMULATED_CUDA).
#pragma once
#include <cuda_runtime.h>

/// Marks a function that runs only on the device, such as bodies of for_each_block(); TENON_FN
/// (fn.hpp) marks one that runs on both.
/// Example: `TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t row) const;`
#define TENON_DEVICE __device__

#if !defined(__CUDACC__)
#include <cuda_simulated_launch.h>
#endif
