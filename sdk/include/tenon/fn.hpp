// TENON_FN marks a function that runs on the host and, in sources compiled for CUDA, on its devices too: operator() and gradient of
// elementwise classes, bodies of gpu::for_each, and whatever they call. Without it g++ compiles the class and nvcc rejects it.
//
//     template <class T>
//     TENON_FN T square(T x) {
//       return x * x;
//     }
#pragma once

/// Sources that get CUDA kernels: those that nvcc compiles, and those that any compiler compiles for the GPUs that Tenon's tests simulate.
#if defined(__CUDACC__) || defined(TENON_SIMULATED_CUDA)
#define TENON_CUDA_SOURCE 1
#endif

// g++ and clang++ see a plain function.
#if defined(__CUDACC__)
#define TENON_FN __host__ __device__
#else
#define TENON_FN
#endif
