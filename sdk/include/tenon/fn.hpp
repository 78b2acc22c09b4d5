// TENON_FN marks a function that runs on the host and, in sources compiled for CUDA, on the device:
// operator() and gradient of elementwise classes, bodies of gpu::for_each, and everything they
// call. Without it, g++ compiles the class but nvcc rejects it.
//
//     template <class T>
//     TENON_FN T square(T x) {
//       return x * x;
//     }
#pragma once

/// Defined in sources that get CUDA kernels: those compiled by nvcc, and those compiled by any
/// compiler for Tenon's simulated GPUs.
#if defined(__CUDACC__) || defined(TENON_SIMULATED_CUDA)
#define TENON_CUDA_SOURCE 1
#endif

// For g++ and clang++ it is empty.
#if defined(__CUDACC__)
#define TENON_FN __host__ __device__
#else
#define TENON_FN
#endif
