// Replaces CUDA's header of this name if g++ compiles CUDA sources for simulated GPUs: nvcc's
// keywords are empty macros.
#pragma once
#include "cuda_runtime_api.h"

#define __host__
#define __device__
#define __forceinline__ inline
