// Stands for CUDA's header of this name where g++ compiles CUDA sources for simulated GPUs: the words that nvcc knows mean nothing here.
#pragma once
#include "cuda_runtime_api.h"

#define __host__
#define __device__
#define __forceinline__ inline
