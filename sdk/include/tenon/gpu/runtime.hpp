// CUDA's runtime, in sources compiled for it: by nvcc, or by any compiler for the tests' simulated GPUs (TENON_SIMULATED_CUDA).
#pragma once
#include <cuda_runtime.h>

/// Marks what runs on the device alone.
#define TENON_DEVICE __device__

#if !defined(__CUDACC__)
#include <cuda_simulated_launch.h>
#endif
