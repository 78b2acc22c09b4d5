// TENON_FN marks a function that runs on the host and, in sources compiled by nvcc, on CUDA devices too.
#pragma once

#if defined(__CUDACC__)
#define TENON_FN __host__ __device__
#else
#define TENON_FN
#endif
